#include "present/exports/callgrind_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "analysis/core/empty_selection.h"
#include "analysis/core/words.h"
#include "model/facts.h"
#include "present/exports/function_costs.h"

namespace fathom::present {
namespace {

struct Call {
  CallPlace from;
  std::uint32_t to = 0;
  auto operator<=>(const Call&) const = default;
};
struct CallHash {
  std::size_t operator()(const Call& call) const noexcept {
    std::uint64_t mixed = (std::uint64_t{call.from.call} << 32 | call.from.line) * 0x9e3779b97f4a7c15U;
    mixed ^= (mixed >> 29) + call.to * 0xbf58476d1ce4e5b9U;
    return static_cast<std::size_t>(mixed ^ (mixed >> 32));
  }
};
struct CallCost {
  std::uint64_t count = 0;
  std::int64_t value = 0;
};

// Names are written once with a number and later by it.
class Names {
 public:
  std::string of(std::string_view raw) {
    const auto [known, added] = numbers_.try_emplace(analysis::printable(raw), numbers_.size() + 1);
    return added ? fmt::format("({}) {}", known->second, known->first) : fmt::format("({})", known->second);
  }

 private:
  std::map<std::string, std::size_t> numbers_;
};

class CallgrindWriter {
 public:
  CallgrindWriter(const model::Profile& profile, const CallgrindOptions& options)
      : profile_(profile),
        options_(options),
        costs_(profile, options.selection, options.fold_generics),
        unknown_(static_cast<std::uint32_t>(-1)) {}

  Result<std::string> write() {
    if (costs_.empty()) return tl::unexpected(analysis::nothing_selected(profile_, options_.selection));
    add_up();
    write_head();
    std::size_t call = 0;
    for (const auto& [place, cost] : self_) {
      // The costs of one function, and behind them its calls; both are in the order of functions.
      if (place.call != open_) {
        write_calls_until(call, place.call);
        begin(place.call);
      }
      out_ += fmt::format("{} {}\n", place.line, cost);
    }
    write_calls_until(call, UINT64_MAX);
    out_ += fmt::format("\ntotals: {}\n", costs_.total());
    return std::move(out_);
  }

 private:
  void add_up() {
    std::unordered_map<Call, CallCost, CallHash> calls;
    std::vector<Call> of_row;
    costs_.for_each([&](const std::vector<CallPlace>& places, const CostRow& row) {
      self_[places.empty() ? CallPlace{unknown_, 0} : places.back()] += row.value;
      of_row.clear();
      for (std::size_t i = 1; i < places.size(); ++i) of_row.push_back({places[i - 1], places[i].call});
      std::ranges::sort(of_row);
      of_row.erase(std::unique(of_row.begin(), of_row.end()), of_row.end());
      for (const Call& call : of_row) {
        CallCost& cost = calls[call];
        cost.count += static_cast<std::uint64_t>(std::max<std::int64_t>(row.count, 1));
        cost.value += row.value;
      }
    });
    calls_.assign(calls.begin(), calls.end());
    std::ranges::sort(calls_, {}, [](const auto& call) { return call.first; });
  }

  void write_head() {
    const analysis::Selection& selection = options_.selection;
    const std::string unit = analysis::unit_of(profile_, selection);
    const model::MetricInfo& metric = model::info_of(selection.metric);
    std::string event(metric.name);
    std::ranges::replace(event, '-', '_');
    const std::string command = model::facts_of<model::OriginFacts>(profile_.meta).command;
    const std::string of = analysis::printable(command.empty() ? profile_.meta.target : command);
    out_ = fmt::format("# callgrind format\nversion: 1\ncreator: {}\n",
                       options_.version.empty() ? "fathom" : options_.version);
    if (profile_.processes.size() == 1) out_ += fmt::format("pid: {}\n", profile_.processes[0].pid);
    out_ += fmt::format("cmd: {}\n", of.empty() ? "unknown" : of);
    out_ += fmt::format("desc: Costs: {}, in {}; the counts of calls are those of samples\n", metric.title,
                        analysis::printable(unit));
    for (const std::string& comment : options_.comments)
      out_ += fmt::format("desc: {}\n", analysis::printable(comment));
    out_ += fmt::format("positions: line\nevent: {0} : {1} ({2})\nevents: {0}\nsummary: {3}\n", event,
                        metric.title, analysis::printable(unit), costs_.total());
  }

  FrameCall call_of(std::uint32_t call) const {
    return call == unknown_ ? FrameCall{"[unknown]", "", {0}} : costs_.calls()[call];
  }
  std::string object_of(const FrameCall& call) {
    const model::Module& module = profile_.modules[call.module.value];
    const std::string_view path = profile_.strings[module.path.value != 0 ? module.path : module.name];
    return objects_.of(path.empty() ? "???" : path);
  }
  std::string file_of(const FrameCall& call) { return files_.of(call.file.empty() ? "???" : call.file); }
  std::string name_of(const FrameCall& call) {
    return functions_.of(call.name.empty() ? "[unknown]" : call.name);
  }

  void begin(std::uint32_t call) {
    open_ = call;
    const FrameCall function = call_of(call);
    out_ += fmt::format("\nob={}\nfl={}\n", object_of(function), file_of(function));
    out_ += fmt::format("fn={}\n", name_of(function));
  }

  // Calls of functions before `until`, which may have no cost of their own.
  void write_calls_until(std::size_t& next, std::uint64_t until) {
    for (; next < calls_.size() && calls_[next].first.from.call < until; ++next) {
      const auto& [call, cost] = calls_[next];
      if (call.from.call != open_) begin(call.from.call);
      const FrameCall callee = call_of(call.to);
      out_ += fmt::format("cob={}\ncfi={}\n", object_of(callee), file_of(callee));
      out_ +=
          fmt::format("cfn={}\ncalls={} 0\n{} {}\n", name_of(callee), cost.count, call.from.line, cost.value);
    }
  }

  const model::Profile& profile_;
  const CallgrindOptions& options_;
  FunctionCosts costs_;
  std::uint32_t unknown_;  // the call of costs without a stack
  std::map<CallPlace, std::int64_t> self_;
  std::vector<std::pair<Call, CallCost>> calls_;
  std::uint64_t open_ = UINT64_MAX;
  Names objects_, files_, functions_;
  std::string out_;
};

}  // namespace

Result<std::string> write_callgrind(const model::Profile& profile, const CallgrindOptions& options) {
  return CallgrindWriter(profile, options).write();
}

}  // namespace fathom::present
