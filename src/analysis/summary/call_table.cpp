#include "analysis/summary/call_table.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/stable_sort.h"
#include "model/facts.h"
#include "model/system_call_rows.h"

namespace fathom::analysis {
namespace {

using namespace model;

// Numbers of a broken file may be any.
std::uint64_t sum(std::uint64_t a, std::uint64_t b) {
  return b > UINT64_MAX - a ? UINT64_MAX : a + b;
}

void add(CallSums& sums, const Calls& row) {
  sums.calls = sum(sums.calls, row.calls);
  sums.counted_only = sum(sums.counted_only, row.counted_only);
  sums.returned = sum(sums.returned, row.returned);
  sums.total_ns = sum(sums.total_ns, row.total_ns);
  sums.longest_ns = std::max(sums.longest_ns, row.longest_ns);
  sums.sized = sum(sums.sized, row.sized);
  sums.bytes = sum(sums.bytes, row.bytes);
}

bool is_more(const CallSums& a, const CallSums& b) {
  return std::pair(a.total_ns, a.calls) > std::pair(b.total_ns, b.calls);
}

constexpr std::size_t kLongestPath = 32;

// "PROVIDER:NAME": names of functions have pairs of colons only.
bool is_static_probe(std::string_view name) {
  const std::size_t colon = name.find(':');
  return colon != name.npos && colon + 1 < name.size() && name[colon + 1] != ':';
}

class Making {
 public:
  Making(const Profile& profile, const Selection& selection)
      : profile_(profile), selection_(selection), filter_(profile, selection) {}

  std::optional<CallTable> run() {
    const std::string probed = facts_of<OriginFacts>(profile_.meta).probes;
    const auto is_probed = [&](const Calls& row) { return kind_of(profile_, row) == CallsKind::kProbed; };
    if (probed.empty() && std::ranges::none_of(profile_.calls, is_probed)) return std::nullopt;
    for (const Calls& row : profile_.calls)
      if (is_taken(row)) book(row);
    CallTable table;
    for (auto& [id, function] : functions_) {
      for (auto& [key, caller] : function.callers) {
        for (auto& [stack, path] : caller.paths) caller.made.paths.push_back(std::move(path));
        stable_sort_rows(caller.made.paths, is_more, &CallsFromPath::sums);
        function.made.callers.push_back(std::move(caller.made));
      }
      stable_sort_rows(function.made.callers, is_more, &CallsFromCaller::sums);
      table.functions.push_back(std::move(function.made));
    }
    stable_sort_rows(table.functions, is_more, &CallsOfFunction::sums);
    const auto cost = facts_of<CostFacts>(profile_.meta);
    table.breakpoints = cost.probe_hits;
    table.own_ns = cost.probe_ns;
    for (const std::string& note : profile_.quality.notes)
      if (note.find("probed") != note.npos || names_one(note, table)) table.notes.push_back(note);
    return table;
  }

 private:
  struct Caller {
    CallsFromCaller made;
    std::map<std::uint32_t, CallsFromPath> paths;  // by stack
  };
  struct Function {
    CallsOfFunction made;
    std::map<std::pair<std::string, std::string>, Caller> callers;
  };

  static bool names_one(const std::string& note, const CallTable& table) {
    return std::ranges::any_of(table.functions, [&](const CallsOfFunction& function) {
      return note.find("calls of " + function.name) != note.npos || note.starts_with(function.name + " ");
    });
  }

  bool is_taken(const Calls& row) const {
    return kind_of(profile_, row) == CallsKind::kProbed && filter_.takes_time(row.time_ns) &&
           filter_.takes_stack(row.stack) &&
           (!selection_.pid || profile_.processes[row.process.value].pid == *selection_.pid);
  }

  void book(const Calls& row) {
    const model::Function& of = profile_.functions[row.function.value];
    Function& function = functions_[row.function.value];
    function.made.name = profile_.strings[of.name];
    function.made.module = profile_.strings[profile_.modules[of.module.value].name];
    function.made.timed = function.made.timed && row.timed;
    add(function.made.sums, row);
    // The leaf is the function itself; or the one that a static probe stands in.
    const StackId above = row.stack.value == 0 || is_static_probe(function.made.name)
                              ? row.stack
                              : profile_.stacks[row.stack.value].parent;
    std::vector<std::string> path;
    std::string module;
    for (StackId at = above; at.value != 0 && path.size() < kLongestPath;
         at = profile_.stacks[at.value].parent) {
      const Frame& frame = profile_.frames[profile_.stacks[at.value].frame.value];
      if (path.empty()) module = profile_.strings[profile_.modules[frame.module.value].name];
      if (frame.line_count == 0) path.push_back(profile_.pseudo_name(frame));
      for (std::uint32_t i = 0; i < frame.line_count && path.size() < kLongestPath; ++i)
        path.emplace_back(
            profile_.strings[profile_.functions[profile_.lines[frame.first_line + i].function.value].name]);
    }
    Caller& caller = function.callers[{path.empty() ? std::string() : path[0], module}];
    caller.made.name = path.empty() ? std::string() : path[0];
    caller.made.module = module;
    add(caller.made.sums, row);
    CallsFromPath& of_path = caller.paths[row.stack.value];
    of_path.path = std::move(path);
    add(of_path.sums, row);
  }

  const Profile& profile_;
  const Selection& selection_;
  Filter filter_;
  std::map<std::uint32_t, Function> functions_;
};

}  // namespace

std::optional<std::uint64_t> CallsOfFunction::not_returned() const {
  const std::uint64_t known = sums.counted_only > sums.calls ? 0 : sums.calls - sums.counted_only;
  if (!timed || sums.returned > known) return std::nullopt;
  return known - sums.returned;
}

std::optional<CallTable> make_call_table(const model::Profile& profile, const Selection& selection) {
  return Making(profile, selection).run();
}

}  // namespace fathom::analysis
