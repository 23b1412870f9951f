// Switches of the scheduler to waits: which thread was taken off its CPU, and when it ran again. A file has the end of a wait only
// where it has the switch back, and what it does not tell stays unknown.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "model/profile.h"

namespace fathom::formats {

// Where the fields of sched:sched_switch stand; as they have been on 64 bits for ten years where the file does not say it.
struct SwitchFields {
  std::size_t previous_tid = 24, previous_state = 32, next_tid = 56;
};
// `tracing`: what perf keeps of the kernel's texts on tracepoints.
SwitchFields switch_fields(std::string_view tracing);

struct Switch {
  std::int32_t previous_tid = 0, next_tid = 0;
  std::uint64_t state = 0;
};
std::optional<Switch> parse_switch(std::span<const std::byte> raw, const SwitchFields& fields);

class Switches {
 public:
  // Thread `tid` was switched out with this stack.
  void out(std::int32_t tid, std::uint64_t time_ns, model::ThreadId thread, model::StackId stack,
           std::uint64_t state, model::WalkEnd end);
  // It runs again.
  void in(std::int32_t tid, std::uint64_t time_ns);
  // A thread woke it.
  void woken(std::int32_t tid, std::uint64_t time_ns, model::ThreadId by, model::StackId stack);

  std::uint64_t switches() const { return rows_.size(); }
  std::uint64_t with_end() const { return with_end_; }
  // The waits whose end is known, in the order in which they began.
  std::vector<model::Wait> take_waits();
  // Each switch as a sample of 1, for a file in which no wait has an end.
  std::vector<model::Sample> as_samples() const;

 private:
  struct Row {
    model::Wait wait;
    std::uint64_t woken_ns = 0;
    bool ended = false;
  };
  std::vector<Row> rows_;
  std::unordered_map<std::int32_t, std::size_t> open_;  // by tid
  std::uint64_t with_end_ = 0;
};

}  // namespace fathom::formats
