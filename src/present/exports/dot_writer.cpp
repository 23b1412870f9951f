#include "present/exports/dot_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "analysis/core/words.h"
#include "present/exports/function_costs.h"

namespace fathom::present {
namespace {

struct Function {
  std::int64_t self = 0, total = 0;
  bool shown = false;
};
struct Arrow {
  std::int64_t value = 0;
  bool direct = false;  // somewhere one calls the other itself
};

std::string escaped(std::string_view raw) {
  std::string text;
  for (const char c : analysis::printable(raw)) {
    if (c == '"' || c == '\\') text += '\\';
    text += c;
  }
  return text;
}

class DotWriter {
 public:
  DotWriter(const model::Profile& profile, const DotOptions& options)
      : profile_(profile),
        options_(options),
        costs_(profile, options.selection, options.fold_generics),
        unit_(analysis::unit_of(profile, options.selection)) {}

  Result<std::string> write() {
    if (costs_.empty())
      return fail(ErrorKind::kNotFound, "the selection has nothing of this metric",
                  "fathom report FILE shows what the file holds");
    add_functions();
    choose_functions();
    add_arrows();
    std::string out = fmt::format(
        "digraph \"{}\" {{\n  graph [label=\"{}\" labelloc=t labeljust=l fontname=\"sans-serif\" fontsize=14]\n"
        "  node [shape=box style=filled fontname=\"sans-serif\"]\n  edge [fontname=\"sans-serif\" fontsize=9]\n",
        escaped(profile_.meta.target), title());
    for (std::uint32_t i = 0; i < functions_.size(); ++i)
      if (functions_[i].shown) write_function(out, i);
    for (const auto& [ends, arrow] : arrows_)
      if (arrow.value >= least_) write_arrow(out, ends.first, ends.second, arrow);
    return out + "}\n";
  }

 private:
  void add_functions() {
    std::vector<std::uint64_t> seen;  // number of the row that a function was last counted in
    std::uint64_t number = 0;
    costs_.for_each([&](const std::vector<CallPlace>& places, const CostRow& row) {
      functions_.resize(costs_.calls().size());
      seen.resize(functions_.size());
      ++number;
      for (const CallPlace& place : places)
        if (std::exchange(seen[place.call], number) != number) functions_[place.call].total += row.value;
      if (!places.empty()) functions_[places.back().call].self += row.value;
    });
  }

  void choose_functions() {
    least_ = std::max<std::int64_t>(
        1, std::llround(std::ceil(static_cast<double>(costs_.total()) * options_.least_share)));
    std::vector<std::uint32_t> order(functions_.size());
    std::iota(order.begin(), order.end(), 0U);
    std::ranges::stable_sort(order, std::greater<>(), [&](std::uint32_t i) { return functions_[i].total; });
    std::size_t shown = 0;
    for (const std::uint32_t i : order) {
      const bool room = options_.most_functions == 0 || shown < options_.most_functions;
      functions_[i].shown = room && functions_[i].total >= least_;
      shown += functions_[i].shown ? 1 : 0;
    }
    left_out_ = functions_.size() - shown;
  }

  void add_arrows() {
    std::map<std::pair<std::uint32_t, std::uint32_t>, bool> of_row;
    costs_.for_each([&](const std::vector<CallPlace>& places, const CostRow& row) {
      of_row.clear();
      const CallPlace* caller = nullptr;
      bool direct = true;
      for (const CallPlace& place : places) {
        if (!functions_[place.call].shown) {
          direct = false;
          continue;
        }
        if (caller != nullptr) of_row[{caller->call, place.call}] |= direct;
        caller = &place;
        direct = true;
      }
      for (const auto& [ends, is_direct] : of_row) {
        Arrow& arrow = arrows_[ends];
        arrow.value += row.value;
        arrow.direct |= is_direct;
      }
    });
  }

  double share(std::int64_t value) const {
    return static_cast<double>(value) / static_cast<double>(costs_.total());
  }
  std::string amount(std::int64_t value) const {
    return fmt::format("{} ({})", analysis::amount(static_cast<double>(value), unit_),
                       analysis::percent(share(value)));
  }

  std::string title() const {
    std::string text = fmt::format("{}\\l{}: {}\\l", escaped(profile_.meta.target),
                                   model::info_of(options_.selection.metric).title,
                                   escaped(analysis::amount(static_cast<double>(costs_.total()), unit_)));
    if (left_out_ != 0)
      text += fmt::format("{} and calls of less than {} are left out\\l",
                          analysis::counted(left_out_, "smaller function"),
                          analysis::percent(options_.least_share));
    for (const std::string& comment : options_.comments) text += escaped(comment) + "\\l";
    return text;
  }

  void write_function(std::string& out, std::uint32_t row) const {
    const FrameCall& call = costs_.calls()[row];
    const Function& function = functions_[row];
    const model::Module& module = profile_.modules[call.module.value];
    std::string label = escaped(call.name.empty() ? "[unknown]" : call.name);
    if (function.self != 0) label += "\\n" + escaped(amount(function.self));
    if (function.total != function.self) label += "\\nof " + escaped(amount(function.total));
    // Letters are as large as what the function costs itself, colours as strong as what it costs with all.
    out +=
        fmt::format("  f{} [label=\"{}\" tooltip=\"{} {}\" fontsize={:.1f} fillcolor=\"0.05 {:.3f} 1.0\"]\n",
                    row, label, escaped(profile_.strings[module.name]), escaped(call.file),
                    9 + 31 * std::sqrt(share(function.self)), 0.05 + 0.5 * share(function.total));
  }

  void write_arrow(std::string& out, std::uint32_t from, std::uint32_t to, const Arrow& arrow) const {
    out += fmt::format("  f{} -> f{} [label=\" {}\" penwidth={:.2f} weight={}{}]\n", from, to,
                       escaped(analysis::amount(static_cast<double>(arrow.value), unit_)),
                       1 + 5 * share(arrow.value), 1 + std::llround(share(arrow.value) * 100),
                       arrow.direct ? "" : " style=dashed");
  }

  const model::Profile& profile_;
  const DotOptions& options_;
  FunctionCosts costs_;
  std::string unit_;
  std::vector<Function> functions_;  // by row of the calls
  std::map<std::pair<std::uint32_t, std::uint32_t>, Arrow> arrows_;
  std::int64_t least_ = 0;
  std::size_t left_out_ = 0;
};

}  // namespace

Result<std::string> write_dot(const model::Profile& profile, const DotOptions& options) {
  return DotWriter(profile, options).write();
}

}  // namespace fathom::present
