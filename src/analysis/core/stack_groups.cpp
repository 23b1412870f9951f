#include "analysis/core/stack_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "analysis/core/call_tree.h"
#include "analysis/core/code_name.h"
#include "analysis/core/source_facts.h"
#include "analysis/core/tracer_frames.h"
#include "analysis/core/waits.h"
#include "base/flat_map.h"

namespace fathom::analysis {
namespace {

using namespace model;

constexpr std::array<std::string_view, 7> kNames = {"module", "crate", "thread",   "process",
                                                    "file",   "line",  "subsystem"};

// "/src/evm/mod.rs" -> "evm/mod.rs": half of all files of Rust are called mod.rs.
std::string_view short_path(std::string_view path) {
  const std::size_t base = path.rfind('/');
  if (base == path.npos || base == 0) return path.substr(base == 0 ? 1 : 0);
  const std::size_t folder = path.rfind('/', base - 1);
  return path.substr(folder == path.npos ? 0 : folder + 1);
}

class Grouper {
 public:
  Grouper(const Profile& profile, const Selection& selection, GroupBy by)
      : profile_(profile), by_(by), tracer_(selection.tracer ? std::nullopt : tracer_module(profile)) {}

  std::vector<GroupRow> group(const std::vector<StackValue>& values) {
    std::vector<std::int64_t> leaves(profile_.stacks.size());
    for (const StackValue& row : values) {
      leaves[row.stack.value] += row.value;
      rows_[self_row(row)].self += row.value;
    }
    weights_ = leaves;
    for (std::size_t i = weights_.size(); i-- > 1;) weights_[profile_.stacks[i].parent.value] += weights_[i];
    if (leaves[0] != 0) rows_[row_named(kNoStack)].total += leaves[0];
    add_totals();
    if (by_ == GroupBy::kLine) name_functions();
    return std::move(rows_);
  }

 private:
  static constexpr std::string_view kNoStack = "(no stack, or idle)";

  // None of the heap tracer: it stands between the program and its allocator.
  std::uint32_t lines_of(FrameId frame) const {
    if (tracer_ && profile_.frames[frame.value].module == *tracer_) return 0;
    return std::max<std::uint32_t>(1, profile_.frames[frame.value].line_count);
  }

  std::uint32_t self_row(const StackValue& row) {
    if (row.stack.value == 0) return row_named(kNoStack);
    const FrameId frame = profile_.stacks[row.stack.value].frame;
    return row_of(frame, std::min(row.skip, std::max(lines_of(frame), 1u) - 1));
  }

  // Depth first, counting how often each row stands on the way to the present stack: only the outermost adds.
  void add_totals() {
    const std::size_t count = profile_.stacks.size();
    std::vector<std::uint32_t> first(count, 0), next(count, 0);
    for (std::size_t i = count; i-- > 1;)
      next[i] = std::exchange(first[profile_.stacks[i].parent.value], static_cast<std::uint32_t>(i));
    std::vector<std::uint32_t> open;  // by row
    std::vector<std::uint32_t> path;  // stacks whose children are being visited
    const auto enter = [&](std::uint32_t stack) {
      const FrameId frame = profile_.stacks[stack].frame;
      for (std::uint32_t line = lines_of(frame); line-- > 0;) {
        const std::uint32_t row = row_of(frame, line);
        open.resize(rows_.size());
        if (open[row]++ == 0) rows_[row].total += weights_[stack];
      }
    };
    const auto leave = [&](std::uint32_t stack) {
      const FrameId frame = profile_.stacks[stack].frame;
      for (std::uint32_t line = lines_of(frame); line-- > 0;) --open[row_of(frame, line)];
    };
    for (std::uint32_t at = first[0]; at != 0;) {
      if (weights_[at] != 0) {
        enter(at);
        path.push_back(at);
        if (first[at] != 0) {
          at = first[at];
          continue;
        }
        leave(at);
        path.pop_back();
      }
      while (next[at] == 0 && !path.empty()) {
        at = path.back();
        leave(at);
        path.pop_back();
      }
      at = next[at];
    }
  }

  std::uint32_t row_named(std::string_view name) {
    const auto [known, is_new] =
        by_name_.try_emplace(std::string(name), static_cast<std::uint32_t>(rows_.size()));
    if (is_new) {
      rows_.emplace_back();
      rows_.back().name = name;
    }
    return known->second;
  }

  std::uint32_t row_of(FrameId id, std::uint32_t line) {
    std::uint32_t& known = by_line_[std::uint64_t{id.value} << 32 | line];
    if (known == 0) known = row_named(name_of(id, line)) + 1;
    return known - 1;
  }

  std::string name_of(FrameId id, std::uint32_t line) const {
    const Frame& frame = profile_.frames[id.value];
    const std::string_view module = profile_.strings[profile_.modules[frame.module.value].name];
    const std::string of_module = module.empty() ? "[no module]" : std::string(module);
    if (by_ == GroupBy::kModule) return of_module;
    if (by_ == GroupBy::kCrate) {
      const std::string name = frame_name(profile_, id, line);
      const std::string_view crate = crate_of(name);
      return crate.empty() ? of_module : std::string(crate);
    }
    const Line* const row = line < frame.line_count ? &profile_.lines[frame.first_line + line] : nullptr;
    const std::string_view file = row == nullptr ? "" : profile_.strings[row->file];
    if (file.empty()) return "(" + of_module + ")";
    return by_ == GroupBy::kFile ? std::string(short_path(file))
                                 : fmt::format("{}:{}", short_path(file), row->line);
  }

  // Of each line the function in which most of its weight is; a header's line is in many.
  void name_functions() {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> weights;  // row and function
    for (std::uint32_t i = 1; i < profile_.stacks.size(); ++i) {
      if (weights_[i] <= 0) continue;
      const FrameId id = profile_.stacks[i].frame;
      const Frame& frame = profile_.frames[id.value];
      for (std::uint32_t line = 0; line < frame.line_count; ++line) {
        std::int64_t& sum =
            weights[{row_of(id, line), profile_.lines[frame.first_line + line].function.value}];
        if (__builtin_add_overflow(sum, weights_[i], &sum)) sum = INT64_MAX;
      }
    }
    std::vector<std::int64_t> most(rows_.size());
    for (const auto& [key, weight] : weights) {
      const auto& [row, function] = key;
      if (weight <= most[row] || rows_[row].name.starts_with('(')) continue;
      most[row] = weight;
      rows_[row].function = profile_.strings[profile_.functions[function].name];
    }
  }

  const Profile& profile_;
  GroupBy by_;
  std::optional<model::ModuleId> tracer_;
  std::vector<GroupRow> rows_;
  std::vector<std::int64_t> weights_;  // by stack, with what is called from there
  std::unordered_map<std::string, std::uint32_t> by_name_;
  FlatMap<std::uint32_t> by_line_;  // by frame and line of it: row + 1
};

std::vector<GroupRow> group_threads(const Profile& profile, const Selection& selection) {
  std::map<std::string, std::int64_t> sums;
  std::vector<std::int64_t> values(profile.threads.size());
  for_each_value(profile, selection,
                 [&](ThreadId thread, std::int64_t value) { values[thread.value] += value; });
  for (std::uint32_t i = 0; i < values.size(); ++i)
    if (values[i] != 0) sums[thread_name(profile, {i})] += values[i];
  std::vector<GroupRow> rows;
  for (const auto& [name, value] : sums) rows.push_back({name, "", value, value});
  return rows;
}

std::vector<GroupRow> group_processes(const Profile& profile, const Selection& selection) {
  std::vector<std::int64_t> values(profile.processes.size());
  for_each_value(profile, selection, [&](ThreadId thread, std::int64_t value) {
    values[profile.threads[thread.value].process.value] += value;
  });
  struct Sum {
    std::int64_t value = 0;
    std::size_t processes = 0;
  };
  std::map<std::string_view, Sum> sums;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] == 0) continue;
    Sum& sum = sums[profile.strings[profile.processes[i].name]];
    sum.value += values[i];
    ++sum.processes;
  }
  std::vector<GroupRow> rows;
  for (const auto& [name, sum] : sums) {
    std::string title(name.empty() ? "(no name)" : name);
    if (sum.processes > 1) title += fmt::format(" ({} processes)", sum.processes);
    rows.push_back({std::move(title), "", sum.value, sum.value});
  }
  return rows;
}

std::vector<GroupRow> group_subsystems(const Profile& profile, const Selection& selection,
                                       const Subsystems& subsystems) {
  const std::size_t other = subsystems.size();
  struct Path {
    std::size_t innermost = 0;
    std::uint64_t seen = 0;  // a bit for each subsystem on the way
  };
  const auto enter = [&](Path path, FrameId id, std::uint32_t first_line) {
    const Frame& frame = profile.frames[id.value];
    const std::string_view module = profile.strings[profile.modules[frame.module.value].name];
    for (std::uint32_t line = std::max<std::uint32_t>(1, frame.line_count); line-- > first_line;)
      if (const auto row = subsystems.find(frame_name(profile, id, line), module)) {
        path.innermost = *row;
        path.seen |= std::uint64_t{1} << *row;
      }
    return path;
  };
  std::vector<Path> paths(profile.stacks.size(), {other, 0});
  std::vector<std::optional<Path>> alone(profile.frames.size());  // a frame is in many stacks
  for (std::size_t i = 1; i < paths.size(); ++i) {
    const Stack& stack = profile.stacks[i];
    std::optional<Path>& own = alone[stack.frame.value];
    if (!own) own = enter({other, 0}, stack.frame, 0);
    paths[i] = paths[stack.parent.value];
    paths[i].seen |= own->seen;
    if (own->innermost != other) paths[i].innermost = own->innermost;
  }
  std::vector<GroupRow> rows(other + 1);
  for (std::size_t i = 0; i < other; ++i) rows[i].name = subsystems.name(i);
  rows[other].name = "(other)";
  for (const StackValue& value : stack_values(profile, selection)) {
    Path path = paths[value.stack.value];
    if (value.skip != 0) {  // the leaf begins with calls that count for their callers
      const Stack& stack = profile.stacks[value.stack.value];
      path = enter(paths[stack.parent.value], stack.frame, value.skip);
    }
    rows[path.innermost].self += value.value;
    if (path.seen == 0) rows[other].total += value.value;
    for (std::size_t i = 0; i < other; ++i)
      if ((path.seen >> i & 1) != 0) rows[i].total += value.value;
  }
  return rows;
}

// Sorted, without the empty ones.
StackGroups groups_of(std::vector<GroupRow> rows, GroupBy by, SortBy sort) {
  StackGroups groups;
  groups.by = by;
  groups.sort = sort;
  groups.rows = std::move(rows);
  std::erase_if(groups.rows, [](const GroupRow& row) { return row.self == 0 && row.total == 0; });
  for (const GroupRow& row : groups.rows) groups.whole += row.self;
  const auto key = [sort](const GroupRow& row) {
    return sort == SortBy::kSelf ? std::pair(-row.self, -row.total) : std::pair(-row.total, -row.self);
  };
  std::sort(groups.rows.begin(), groups.rows.end(), [&](const GroupRow& a, const GroupRow& b) {
    return key(a) != key(b) ? key(a) < key(b) : a.name < b.name;
  });
  return groups;
}

}  // namespace

std::string_view to_string(GroupBy by) {
  return kNames[static_cast<std::size_t>(by)];
}

std::optional<GroupBy> group_by_from(std::string_view name) {
  const auto end = kNames.begin() + static_cast<std::ptrdiff_t>(GroupBy::kLine);
  const auto found = std::find(kNames.begin(), end, name);
  if (found == end) return std::nullopt;
  return static_cast<GroupBy>(found - kNames.begin());
}

StackGroups group_stacks(const Profile& profile, const Selection& selection, GroupBy by, SortBy sort) {
  return groups_of(by == GroupBy::kThread ? group_threads(profile, selection)
                   : by == GroupBy::kProcess
                       ? group_processes(profile, selection)
                       : Grouper(profile, selection, by).group(stack_values(profile, selection)),
                   by, sort);
}

StackGroups group_by_subsystem(const Profile& profile, const Selection& selection,
                               const Subsystems& subsystems, SortBy sort) {
  return groups_of(group_subsystems(profile, selection, subsystems), GroupBy::kSubsystem, sort);
}

}  // namespace fathom::analysis
