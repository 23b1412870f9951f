// What clients of the endpoints wait for: each asks for a stretch of time that begins now. Asked on the server's thread, answered
// from the recording's; any number of them share one recording.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "model/profile.h"

namespace fathom::serve {

enum class Cost : std::uint8_t {
  kCpu,
  kBlock,  // waits, by the stack that waits
  kMutex,  // the same by the stack that ended the wait: of locks alone
  kHeap,   // what is live; of a stretch: what changed
  kAllocs,
  kTimes,  // CPU and waits, for metrics
};

struct Pull {
  Cost cost = Cost::kCpu;
  std::uint64_t from_ns = 0;    // CLOCK_MONOTONIC
  std::uint64_t length_ns = 0;  // 0: since the recording began
  // Called once, in any thread, with the rows of the stretch. nullopt: there is no recording of it.
  std::function<void(std::optional<model::Profile>)> done;
};

// Pulls that have come since the recording looked last. Any thread.
class Pulls {
 public:
  Pulls() = default;
  Pulls(const Pulls&) = delete;
  Pulls& operator=(const Pulls&) = delete;
  ~Pulls() { refuse(); }

  // Answers all that wait: there is no recording.
  void refuse() {
    for (const Pull& pull : take()) pull.done(std::nullopt);
  }
  void ask(Pull pull) {
    const std::lock_guard lock(mutex_);
    asked_.push_back(std::move(pull));
  }
  std::vector<Pull> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(asked_, {});
  }

 private:
  std::mutex mutex_;
  std::vector<Pull> asked_;
};

}  // namespace fathom::serve
