#include "present/text/text_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "analysis/core/prose_name.h"
#include "analysis/core/rounding.h"
#include "analysis/core/words.h"
#include "present/sentences/hot_spot_sentences.h"
#include "present/text/heading.h"
#include "present/text/text_table.h"

namespace fathom::present {
namespace {

using analysis::CallRow;
using analysis::NodeKind;
using analysis::TreeRowKind;

constexpr std::size_t kMostCallWhere = 32;
constexpr std::size_t kLeastCallName = 24;

struct Column {
  std::string head;
  std::string (*cell)(const analysis::CallTree&, const analysis::CallRows&, const CallRow&);
};

// `value` of `of`, which is a part of the tree's total, with the digits that sampling leaves it.
std::string part(const analysis::CallTree& tree, std::int64_t value, std::int64_t of) {
  if (of == 0) return "";
  const double share = static_cast<double>(value) / static_cast<double>(of);
  if (share >= 0.0995) return rounded_percent(share);
  const double samples = tree.effective_samples * analysis::share(tree, of);
  return analysis::percent_with_error(share, analysis::wilson_interval(share, samples).half_width()) + " %";
}
std::string total_of_all(const analysis::CallTree& tree, const analysis::CallRows&, const CallRow& row) {
  return part(tree, row.row.total, tree.total);
}
std::string total_of_it(const analysis::CallTree& tree, const analysis::CallRows& rows, const CallRow& row) {
  return part(tree, row.row.total, rows.total);
}
// Too little for a digit: most calls only hand on. A recording may have any weights: their product may not.
bool is_little(std::int64_t part, std::int64_t whole) {
  return static_cast<double>(part) * 200 < static_cast<double>(whole);
}
std::string self_of_all(const analysis::CallTree& tree, const analysis::CallRows&, const CallRow& row) {
  return is_little(row.row.self, tree.total) ? "" : part(tree, row.row.self, tree.total);
}
std::string self_of_it(const analysis::CallTree& tree, const analysis::CallRows& rows, const CallRow& row) {
  return is_little(row.row.self, rows.total) ? "" : part(tree, row.row.self, rows.total);
}

class CallText {
 public:
  CallText(const analysis::Report& report, const analysis::CallRows& rows, const TextOptions& options,
           std::vector<Column> columns, std::string_view head)
      : tree_(report.tree),
        rows_(rows),
        options_(options),
        width_(table_width(options)),
        columns_(std::move(columns)),
        head_(head) {
    limit_ = fmt::format("{:g} %", report.least_share * 100);
  }

  std::string text() {
    measure();
    std::string out = line({}, std::string(head_), "where", true);
    for (std::size_t i = 0; i < rows_.rows.size(); ++i) {
      const CallRow& row = rows_.rows[i];
      std::vector<std::string> cells;
      for (const Column& column : columns_) cells.push_back(column.cell(tree_, rows_, row));
      const std::string lead = lead_of(row.row);
      const std::size_t used = display_width(lead);
      const std::size_t room =
          name_width_ == 0 ? 0 : std::max(name_width_ > used ? name_width_ - used : 0, kLeastCallName);
      const bool weak = row.row.kind != TreeRowKind::kCall || !row.own;
      out += line(cells, lead + name_of(row, room), wheres_[i], weak);
    }
    return out;
  }

 private:
  void measure() {
    for (const Column& column : columns_)
      widths_.push_back(std::max<std::size_t>(6, display_width(column.head)));
    std::size_t where = display_width("where");
    for (const CallRow& row : rows_.rows) {
      wheres_.push_back(where_of(row));
      where = std::max(where, display_width(wheres_.back()));
    }
    if (width_ == 0) {
      for (std::size_t i = 0; i < rows_.rows.size(); ++i)
        pad_ = std::max(pad_, display_width(lead_of(rows_.rows[i].row) + name_of(rows_.rows[i], 0)));
      constexpr std::size_t kWidestPad =
          120;  // of what is not cut; behind longer names follows what belongs to them
      pad_ = std::min(pad_, kWidestPad);
      open_.clear();
      return;
    }
    std::size_t others = 2 + where;
    for (const std::size_t width : widths_) others += 2 + width;
    name_width_ = width_ > others + 2 + kLeastCallName ? width_ - others - 2 : kLeastCallName;
    std::size_t widest = display_width(head_);
    for (const CallRow& row : rows_.rows) {
      const std::string lead = lead_of(row.row);
      const std::size_t used = display_width(lead);
      widest = std::max(
          widest, used + display_width(name_of(
                             row, std::max(name_width_ > used ? name_width_ - used : 0, kLeastCallName))));
    }
    pad_ = std::min(widest, name_width_);
    open_.clear();
  }

  std::string line(const std::vector<std::string>& cells, const std::string& name, const std::string& where,
                   bool faint) const {
    std::string out;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const std::string& cell = cells.empty() ? columns_[i].head : cells[i];
      out += "  " + std::string(widths_[i] - std::min(widths_[i], display_width(cell)), ' ') + cell;
    }
    const std::size_t has = display_width(name);
    out += "  " + name + std::string(has < pad_ ? pad_ - has : 0, ' ') + "  " + where;
    out.erase(out.find_last_not_of(' ') + 1);
    return faint && options_.color ? "\x1b[2m" + out + "\x1b[0m\n" : out + "\n";
  }

  // The lines that join a call with its caller. Rows are asked for in order, as those above say which lines go on.
  std::string lead_of(const analysis::TreeRow& row) {
    open_.resize(row.depth);
    open_.push_back(row.last ? 0 : 1);
    if (row.depth == 0) return "";
    const std::size_t most = width_ == 0 ? 200 : std::max<std::size_t>(8, width_ / 4);
    std::string lead;
    const std::size_t first = row.depth > most ? row.depth - most : 1;
    for (std::size_t level = first; level < row.depth; ++level) lead += open_[level] != 0 ? "│" : " ";
    lead += row.last ? "└ " : "├ ";
    return first > 1 ? lead + fmt::format("({}) ", row.depth) : lead;
  }

  std::string name_of(const CallRow& row, std::size_t room) const {
    const auto name = [&](std::uint32_t id) {
      return width_ == 0 ? analysis::printable(tree_.names[id]) : analysis::prose_name(tree_.names[id]);
    };
    const auto fitted = [&](const std::string& text) { return room == 0 ? text : shorten_name(text, room); };
    switch (row.row.kind) {
      case TreeRowKind::kRest:
        return fmt::format("⋯ {} calls below {} each",
                           analysis::with_commas(static_cast<std::int64_t>(row.row.count)), limit_);
      case TreeRowKind::kChain: {
        std::string text = fmt::format("⋯ {} calls: ", row.row.count);
        for (std::size_t i = 0; i < row.row.names.size(); ++i) {
          const std::string next = (i == 0 ? "" : ", ") + name(row.row.names[i]);
          if (i != 0 && room != 0 && display_width(text + next) > room) break;
          text += next;
        }
        return room == 0 || display_width(text) <= room ? text : fmt::format("⋯ {} calls", row.row.count);
      }
      case TreeRowKind::kCall:
        break;
    }
    if (row.call.kind == NodeKind::kThread) {
      const std::string thread = "thread " + analysis::printable(tree_.names[row.call.name]);
      return room == 0 ? thread : keep_both_ends(thread, room);
    }
    return fitted(name(row.call.name) + (row.call.kind == NodeKind::kInlined ? " (inlined)" : ""));
  }

  std::string where_of(const CallRow& row) const {
    if (row.row.kind != TreeRowKind::kCall) return "";
    std::string where = place_text(row.place, tree_.names[row.call.name]);
    if (where.empty() && row.call.kind == NodeKind::kKernel) where = "kernel";
    if (where.empty() && row.call.kind != NodeKind::kThread && row.call.kind != NodeKind::kCause)
      where = analysis::short_module(tree_.modules[row.call.module].name);
    if (row.call.deep > 1) where += fmt::format("{}{} deep", where.empty() ? "" : ", ", row.call.deep);
    return width_ == 0 ? where : keep_tail(where, kMostCallWhere);
  }

  const analysis::CallTree& tree_;
  const analysis::CallRows& rows_;
  const TextOptions& options_;
  std::size_t width_;  // 0: names stay whole
  std::vector<Column> columns_;
  std::string_view head_;
  std::string limit_;
  std::vector<std::size_t> widths_;
  std::vector<std::string> wheres_;
  std::size_t name_width_ = 0, pad_ = 0;  // 0: as long as they are
  std::vector<char> open_;                // by depth: a sibling follows
};

}  // namespace

std::string call_tree_text(const analysis::Report& report, const TextOptions& options) {
  const analysis::CallTree& tree = report.tree;
  const bool bottom_up = report.direction == analysis::TreeDirection::kCallers;
  std::string left_out;
  if (report.least_share > 0)
    left_out = fmt::format("; calls below {:g} % are left out", report.least_share * 100);
  std::string error;
  if (tree.effective_samples < analysis::kExact)
    error =
        fmt::format(", ±{} at most",
                    analysis::percent_number(analysis::share_interval(tree, tree.total / 2).half_width()));
  std::string out = heading(fmt::format("{} (% of {}{}{})", bottom_up ? "Calls bottom up" : "Call tree",
                                        analysis::amount_of(tree, tree.total), error, left_out),
                            options);
  std::vector<Column> columns{{bottom_up ? "self" : "total", total_of_all}};
  if (!bottom_up) columns.push_back({"self", self_of_all});
  return out + CallText(report, report.call_rows, options, std::move(columns),
                        bottom_up ? "function, called by" : "call tree")
                   .text();
}

std::string call_chains_text(const analysis::Report& report, const analysis::NeighboursOf& of,
                             const TextOptions& options, bool callers) {
  std::vector<Column> columns{{"of it", total_of_it}, {"of all", total_of_all}};
  if (!callers) columns.insert(columns.begin() + 1, {"self", self_of_it});
  return CallText(report, of.chains, options, std::move(columns), callers ? "called by" : "calls").text();
}

}  // namespace fathom::present
