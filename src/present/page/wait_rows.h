// The longest single waits, each with who ended it: what the page lists and follows from thread to thread. And the names of
// what was waited for: locks, files, peers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/core/waits.h"
#include "model/profile.h"

namespace fathom::page {

// One wait, as it was recorded. Times in ns from the start of the recording.
struct WaitRow {
  std::uint64_t start_ns = 0, waited_ns = 0, queued_ns = 0;
  model::ThreadId thread, waker = model::kNoThread;  // kNoThread: not known, or no thread ended it
  model::StackId waker_stack;                        // 0: not walked
  std::uint32_t waker_node = 0;                      // of CallNodes: where that thread was when it did
  std::uint32_t object = 0;                          // of ObjectNames; 0: none
  std::uint32_t node = 0;                            // of CallNodes: the cause below its stack
  std::uint32_t weight = 1;                          // so many waits does it stand for
};

enum class WaitedFor : std::uint8_t { kOther, kLock, kFile };

// What was waited for, by number and as text. Row 0: nothing that is known.
class ObjectNames {
 public:
  explicit ObjectNames(const model::Profile& profile) : profile_(profile) {}
  std::uint32_t of(const model::Wait& wait, analysis::Cause cause);

  struct Row {
    std::string name;
    WaitedFor kind = WaitedFor::kOther;
  };
  std::vector<Row> rows{{}};

 private:
  const model::Profile& profile_;
  std::vector<std::uint32_t> of_object_;  // row + 1, by object of the profile
};

}  // namespace fathom::page
