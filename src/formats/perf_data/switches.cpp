#include "formats/perf_data/switches.h"

#include <algorithm>
#include <charconv>

#include "base/cursor.h"

namespace fathom::formats {
namespace {

std::size_t offset_of(std::string_view format, std::string_view field, std::size_t otherwise) {
  const std::size_t at = format.find(field);
  if (at == std::string_view::npos) return otherwise;
  constexpr std::string_view kOffset = "offset:";
  const std::size_t number = format.find(kOffset, at);
  if (number == std::string_view::npos) return otherwise;
  std::size_t offset = 0;
  const char* first = format.data() + number + kOffset.size();
  const auto [end, error] = std::from_chars(first, format.data() + format.size(), offset);
  return error == std::errc{} && offset < 4096 ? offset : otherwise;
}

model::WaitState state_of(std::uint64_t state) {
  using model::WaitState;
  if (state == 0 || (state & 0x100) != 0) return WaitState::kPreempted;
  if ((state & 1) != 0) return WaitState::kInterruptible;
  if ((state & 2) != 0) return WaitState::kUninterruptible;
  if ((state & 4) != 0) return WaitState::kStopped;
  if ((state & 8) != 0) return WaitState::kTraced;
  return WaitState::kOther;
}

}  // namespace

SwitchFields switch_fields(std::string_view tracing) {
  SwitchFields fields;
  const std::size_t at = tracing.find("name: sched_switch\n");
  if (at == std::string_view::npos) return fields;
  std::string_view format = tracing.substr(at);
  format = format.substr(0, format.find("print fmt:"));
  fields.previous_tid = offset_of(format, " prev_pid;", fields.previous_tid);
  fields.previous_state = offset_of(format, " prev_state;", fields.previous_state);
  fields.next_tid = offset_of(format, " next_pid;", fields.next_tid);
  return fields;
}

std::optional<Switch> parse_switch(std::span<const std::byte> raw, const SwitchFields& fields) {
  const auto at = [&](std::size_t offset) { return Cursor(raw.subspan(std::min(offset, raw.size()))); };
  Cursor previous = at(fields.previous_tid), state = at(fields.previous_state), next = at(fields.next_tid);
  Switch row;
  row.previous_tid = previous.read<std::int32_t>();
  row.state = state.read<std::uint64_t>();
  row.next_tid = next.read<std::int32_t>();
  if (!previous.ok() || !state.ok() || !next.ok()) return std::nullopt;
  return row;
}

void Switches::out(std::int32_t tid, std::uint64_t time_ns, model::ThreadId thread, model::StackId stack,
                   std::uint64_t state, model::WalkEnd end) {
  Row row;
  row.wait.start_ns = time_ns;
  row.wait.thread = thread;
  row.wait.stack = stack;
  row.wait.state = state_of(state);
  row.wait.end = end;
  open_[tid] = rows_.size();
  rows_.push_back(row);
}

void Switches::in(std::int32_t tid, std::uint64_t time_ns) {
  const auto open = open_.find(tid);
  if (open == open_.end()) return;
  Row& row = rows_[open->second];
  open_.erase(open);
  if (time_ns < row.wait.start_ns) return;
  // Preempted threads could run all the time.
  std::uint64_t woken = row.woken_ns != 0 ? row.woken_ns : time_ns;
  if (row.wait.state == model::WaitState::kPreempted) woken = row.wait.start_ns;
  row.wait.waited_ns = woken - row.wait.start_ns;
  row.wait.queued_ns = time_ns - woken;
  row.ended = true;
  ++with_end_;
}

void Switches::woken(std::int32_t tid, std::uint64_t time_ns, model::ThreadId by, model::StackId stack) {
  const auto open = open_.find(tid);
  if (open == open_.end()) return;
  Row& row = rows_[open->second];
  if (row.woken_ns != 0 || time_ns < row.wait.start_ns) return;
  row.woken_ns = time_ns;
  row.wait.waker = by;
  row.wait.waker_stack = stack;
}

std::vector<model::Wait> Switches::take_waits() {
  std::vector<model::Wait> waits;
  for (const Row& row : rows_)
    if (row.ended) waits.push_back(row.wait);
  return waits;
}

std::vector<model::Sample> Switches::as_samples() const {
  std::vector<model::Sample> samples;
  for (const Row& row : rows_) {
    model::Sample sample;
    sample.time_ns = row.wait.start_ns;
    sample.thread = row.wait.thread;
    sample.stack = row.wait.stack;
    sample.end = row.wait.end;
    samples.push_back(sample);
  }
  return samples;
}

}  // namespace fathom::formats
