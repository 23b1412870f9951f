#include "analysis/waits/async_tasks.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>

#include "analysis/core/idle.h"
#include "analysis/core/own_code.h"
#include "analysis/waits/wait_times.h"
#include "base/stable_sort.h"

namespace fathom::analysis {
namespace {

enum class Part : std::uint8_t { kNone, kWorker, kPoll, kMayBlock };

// What a function of the executor begins.
Part part_of(std::string_view name) {
  const auto is = [&](std::string_view glob) { return matches_glob(glob, name); };
  if (is("*tokio::runtime::blocking::*") || is("*block_in_place*")) return Part::kMayBlock;
  if (is("*scheduler::multi_thread*::worker::run*") ||
      is("*scheduler::multi_thread*::worker::Context::run*") ||
      is("*scheduler::current_thread::*block_on*") || is("*tokio::task::local::*tick*"))
    return Part::kWorker;
  if (is("*tokio::runtime::task::raw::*poll*") || is("*tokio::runtime::task::harness::*poll*") ||
      is("*tokio::runtime::task::core::*poll*"))
    return Part::kPoll;
  return Part::kNone;
}

// What a thread did at one time.
struct Moment {
  std::uint64_t from_ns = 0, to_ns = 0;
  std::uint32_t task = 0, thread = 0;
};

// For each task, the longest time in which a thread was seen with it and nothing else.
class LongestHolds {
 public:
  // `gap_ns`: between two looks at a thread.
  LongestHolds(std::size_t threads, std::uint64_t gap_ns) : held_(threads), gap_ns_(gap_ns) {}
  // By from_ns.
  void take(const Moment& moment) {
    std::optional<Moment>& held = held_[moment.thread];
    const bool goes_on = held && held->task == moment.task && moment.from_ns <= held->to_ns + gap_ns_;
    if (!goes_on) held = moment;
    held->to_ns = std::max(held->to_ns, moment.to_ns);
    if (held->task == 0) return;
    std::uint64_t& most = longest_[held->task];
    most = std::max(most, held->to_ns - held->from_ns);
  }
  std::uint64_t of(std::uint32_t task) const {
    const auto found = longest_.find(task);
    return found == longest_.end() ? 0 : found->second;
  }

 private:
  std::vector<std::optional<Moment>> held_;  // by thread
  std::map<std::uint32_t, std::uint64_t> longest_;
  std::uint64_t gap_ns_;
};

// In pieces of the time, so that millions of samples and waits take no memory of their own.
LongestHolds find_longest(const Waits& waits, const Filter& filter, const PolledTasks& tasks,
                          std::uint64_t gap_ns) {
  constexpr std::size_t kRowsOfPiece = std::size_t{1} << 19;
  const model::Profile& profile = waits.profile();
  LongestHolds holds(profile.threads.size(), gap_ns);
  const std::size_t pieces = 1 + (profile.all_samples().size() + waits.rows().size()) / kRowsOfPiece;
  const std::uint64_t start = profile.meta.start_ns,
                      length = profile.meta.end_ns > start ? profile.meta.end_ns - start : 0;
  const WaitTimes times(waits);
  std::vector<Moment> piece;
  for (std::size_t at = 0; at < pieces; ++at) {
    // What lies before the start or after the end is in the first piece or in the last.
    const std::uint64_t first = at == 0 ? 0 : start + length / pieces * at;
    const std::uint64_t end = at + 1 == pieces ? UINT64_MAX : start + length / pieces * (at + 1);
    const auto is_here = [&](std::uint64_t time_ns) { return time_ns >= first && time_ns < end; };
    piece.clear();
    for (const model::Sample& sample : profile.all_samples())
      if (is_here(sample.time_ns) && sample.metric == model::Metric::kCpu &&
          filter.takes_thread(sample.thread) && filter.takes_time(sample.time_ns))
        piece.push_back({sample.time_ns, sample.time_ns, tasks.task(sample.stack), sample.thread.value});
    times.for_each_near(first, end, [&](const SelectedWait& row) {
      const model::Wait& wait = row.wait;
      if (is_here(wait.start_ns))
        piece.push_back({wait.start_ns, wait.start_ns + wait.waited_ns + wait.queued_ns,
                         row.idle ? 0 : tasks.task(wait.stack), wait.thread.value});
    });
    std::ranges::sort(piece, {}, &Moment::from_ns);
    for (const Moment& moment : piece) holds.take(moment);
  }
  return holds;
}

}  // namespace

bool polls_a_task(std::string_view name) {
  return part_of(name) == Part::kPoll;
}

PolledTasks::PolledTasks(const model::Profile& profile) {
  std::vector<Part> parts(profile.functions.size(), Part::kNone);
  bool any = false;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    parts[i] = part_of(profile.strings[profile.functions[i].name]);
    any = any || parts[i] == Part::kPoll;
  }
  if (!any) return;
  states_.resize(profile.stacks.size());
  const OwnCode own_code(profile);
  enum class Own : std::uint8_t { kNotAsked, kYes, kNo };
  std::vector<Own> own(profile.lines.size(), Own::kNotAsked);
  for (std::size_t i = 1; i < states_.size(); ++i) {
    const model::Stack& stack = profile.stacks[i];
    const model::Frame& frame = profile.frames[stack.frame.value];
    State state = states_[stack.parent.value];
    for (std::uint32_t line = frame.line_count; line-- > 0;) {  // outermost first
      const std::uint32_t row = frame.first_line + line;
      const std::uint32_t function = profile.lines[row].function.value;
      switch (parts[function]) {
        case Part::kMayBlock:
          state = {Where::kMayBlock, 0};
          break;
        case Part::kWorker:
          state = {Where::kWorker, 0};
          break;
        case Part::kPoll:
          if (state.where == Where::kWorker) state = {Where::kPoll, 0};
          break;
        case Part::kNone:
          if (state.where != Where::kPoll || state.task != 0) break;
          if (own[row] == Own::kNotAsked)
            own[row] = own_code.is_own(profile.strings[profile.functions[function].name], frame.module,
                                       profile.strings[profile.lines[row].file])
                           ? Own::kYes
                           : Own::kNo;
          if (own[row] == Own::kYes) state.task = function;
          break;
      }
    }
    states_[i] = state;
    any_ = any_ || state.task != 0;
  }
}

std::vector<AsyncTaskRow> find_async_tasks(const Waits& waits, const Selection& selection, WaitSites& sites) {
  const model::Profile& profile = waits.profile();
  const PolledTasks tasks(profile);
  if (!tasks.any()) return {};
  struct Draft {
    AsyncTaskRow row;
    model::StackId longest_stack;
  };
  std::map<std::uint32_t, Draft> drafts;
  const Filter filter(profile, selection);
  const double period_ns = sample_period_ns(profile);
  for (const model::Sample& sample : profile.all_samples()) {
    if (sample.metric != model::Metric::kCpu || !filter.takes_thread(sample.thread) ||
        !filter.takes_time(sample.time_ns))
      continue;
    const std::uint32_t task = tasks.task(sample.stack);
    if (task != 0) drafts[task].row.ran_ns += static_cast<double>(sample.value) * period_ns;
  }
  for (const SelectedWait& row : waits.rows()) {
    const model::Wait& wait = waits.wait(row);
    const std::uint32_t task = row.idle ? 0 : tasks.task(wait.stack);
    if (task == 0 || row.waited_ns == 0) continue;
    Draft& draft = drafts[task];
    if (row.waited_ns > draft.row.blocked.max_ns() || draft.longest_stack.value == 0) {
      draft.longest_stack = wait.stack;
      draft.row.cause = row.cause;
    }
    draft.row.blocked.add(row.waited_ns, waits.weight(row));
  }
  if (drafts.empty()) return {};
  constexpr double kPeriods = 3;  // so many samples may be missing
  const LongestHolds longest =
      find_longest(waits, filter, tasks, static_cast<std::uint64_t>(kPeriods * period_ns));
  std::vector<AsyncTaskRow> rows;
  for (auto& [task, draft] : drafts) {
    draft.row.task = profile.strings[profile.functions[task].name];
    draft.row.longest_ns = longest.of(task);
    if (draft.longest_stack.value != 0) draft.row.site = sites.of(draft.longest_stack);
    rows.push_back(std::move(draft.row));
  }
  stable_sort_rows(rows, [](const AsyncTaskRow& a, const AsyncTaskRow& b) {
    return std::tuple(a.blocked.total_ns(), a.ran_ns) > std::tuple(b.blocked.total_ns(), b.ran_ns);
  });
  return rows;
}

}  // namespace fathom::analysis
