#include "analysis/waits/async_tasks.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>

#include "analysis/core/idle.h"
#include "analysis/core/own_code.h"
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
  std::uint32_t task = 0;
};

// For each task, the longest time in which a thread was seen with it and nothing else. `gap_ns`: between two looks at it.
void find_longest(std::vector<Moment>& moments, std::uint64_t gap_ns,
                  std::map<std::uint32_t, std::uint64_t>& longest) {
  std::ranges::sort(moments, {}, &Moment::from_ns);
  std::optional<Moment> held;
  for (const Moment& moment : moments) {
    const bool goes_on = held && held->task == moment.task && moment.from_ns <= held->to_ns + gap_ns;
    if (!goes_on) held = moment;
    held->to_ns = std::max(held->to_ns, moment.to_ns);
    if (held->task == 0) continue;
    std::uint64_t& most = longest[held->task];
    most = std::max(most, held->to_ns - held->from_ns);
  }
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
  std::map<std::uint32_t, std::vector<Moment>> moments;  // by thread
  const Filter filter(profile, selection);
  const double period_ns = sample_period_ns(profile);
  for (const model::Sample& sample : profile.all_samples()) {
    if (sample.metric != model::Metric::kCpu || !filter.takes_thread(sample.thread) ||
        !filter.takes_time(sample.time_ns))
      continue;
    const std::uint32_t task = tasks.task(sample.stack);
    moments[sample.thread.value].push_back({sample.time_ns, sample.time_ns, task});
    if (task != 0) drafts[task].row.ran_ns += static_cast<double>(sample.value) * period_ns;
  }
  for (const SelectedWait& row : waits.rows()) {
    const model::Wait& wait = waits.wait(row);
    const std::uint32_t task = row.idle ? 0 : tasks.task(wait.stack);
    moments[wait.thread.value].push_back(
        {wait.start_ns, wait.start_ns + wait.waited_ns + wait.queued_ns, task});
    if (task == 0 || row.waited_ns == 0) continue;
    Draft& draft = drafts[task];
    if (row.waited_ns > draft.row.blocked.max_ns() || draft.longest_stack.value == 0) {
      draft.longest_stack = wait.stack;
      draft.row.cause = row.cause;
    }
    draft.row.blocked.add(row.waited_ns, waits.weight(row));
  }
  if (drafts.empty()) return {};
  std::map<std::uint32_t, std::uint64_t> longest;
  constexpr double kPeriods = 3;  // so many samples may be missing
  for (auto& [thread, list] : moments)
    find_longest(list, static_cast<std::uint64_t>(kPeriods * period_ns), longest);
  std::vector<AsyncTaskRow> rows;
  for (auto& [task, draft] : drafts) {
    draft.row.task = profile.strings[profile.functions[task].name];
    draft.row.longest_ns = longest[task];
    if (draft.longest_stack.value != 0) draft.row.site = sites.of(draft.longest_stack);
    rows.push_back(std::move(draft.row));
  }
  stable_sort_rows(rows, [](const AsyncTaskRow& a, const AsyncTaskRow& b) {
    return std::tuple(a.blocked.total_ns(), a.ran_ns) > std::tuple(b.blocked.total_ns(), b.ran_ns);
  });
  return rows;
}

}  // namespace fathom::analysis
