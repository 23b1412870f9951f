#include "present/text/text_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <type_traits>
#include <utility>

#include "analysis/core/words.h"
#include "present/sentences/diff_sentences.h"
#include "present/sentences/memory_sentences.h"
#include "present/sentences/quality_sentences.h"
#include "present/text/text_table.h"

namespace fathom::present {
namespace {

using analysis::Change;
using analysis::DiffGroup;
using analysis::DiffReport;
using analysis::DiffRow;

// One line of a table, whatever it is about.
struct Line {
  std::string name, where;
  Change change = {};
  bool noise = false;
};

std::string where_of(const DiffRow& row) {
  if (row.line != 0) return fmt::format("{}:{}", analysis::printable(row.file), row.line);
  return analysis::printable(row.module);
}

struct Table {
  std::string title, name_head;
  std::vector<Line> lines;  // what is more than noise, largest first; then noise, by name
  std::size_t found = 0;
  std::size_t noise = 0;  // looked at, and no more than noise
};

template <class Row>
Table table_of(std::string title, std::string name_head, const std::vector<Row>& rows,
               const Change Row::*change, bool with_noise) {
  Table table{std::move(title), std::move(name_head), {}, 0, 0};
  std::vector<Line> noise;
  for (const Row& row : rows) {
    const Change& figure = row.*change;
    if (!figure.looked_at) continue;
    Line line{analysis::printable(row.name), "", figure, !figure.beyond_noise};
    if constexpr (std::is_same_v<Row, DiffRow>) line.where = where_of(row);
    if (line.name.empty()) line.name = "(no module)";
    (line.noise ? noise : table.lines).push_back(std::move(line));
  }
  table.found = table.lines.size();
  table.noise = noise.size();
  std::stable_sort(table.lines.begin(), table.lines.end(), [](const Line& a, const Line& b) {
    return std::fabs(a.change.change) > std::fabs(b.change.change);
  });
  if (!with_noise) return table;
  std::stable_sort(noise.begin(), noise.end(), [](const Line& a, const Line& b) { return a.name < b.name; });
  table.lines.insert(table.lines.end(), noise.begin(), noise.end());
  return table;
}

// Calls through which a change runs. What changed by itself stands in a table of its own, and of a chain of calls that
// only hand on one is enough.
std::vector<DiffRow> callers_of_change(const std::vector<DiffRow>& rows) {
  std::vector<DiffRow> kept;
  std::map<std::pair<double, double>, std::size_t> chains;  // by figures: row of `kept`
  std::map<std::size_t, std::size_t> more;
  for (const DiffRow& row : rows) {
    if (row.self.beyond_noise && std::fabs(row.total.change - row.self.change) < row.total.error) continue;
    const auto [chain, added] = chains.try_emplace({row.total.base, row.total.fresh}, kept.size());
    if (added)
      kept.push_back(row);
    else if (row.total.beyond_noise)
      ++more[chain->second];
  }
  for (const auto& [row, count] : more) kept[row].name += fmt::format(" (and {} more of its chain)", count);
  return kept;
}

std::vector<Table> tables_of(const DiffReport& report, bool with_noise) {
  std::vector<Table> tables;
  tables.push_back(table_of("By itself", "function", report.rows, &DiffRow::self, with_noise));
  tables.push_back(table_of("With all that it calls", "function", callers_of_change(report.rows),
                            &DiffRow::total, with_noise));
  tables.push_back(table_of("By cause", "cause", report.causes, &DiffGroup::self, with_noise));
  tables.push_back(table_of("By thread", "threads", report.threads, &DiffGroup::self, with_noise));
  tables.push_back(table_of("By module", "module", report.modules, &DiffGroup::self, with_noise));
  tables.push_back(table_of("By crate", "crate or namespace", report.crates, &DiffGroup::self, with_noise));
  tables.push_back(table_of("By size", "blocks of", report.sizes, &DiffGroup::self, with_noise));
  tables.push_back(table_of("By life", "blocks that lived", report.lifetimes, &DiffGroup::self, with_noise));
  // A group that is all there is says the first sentence once more.
  std::erase_if(tables, [&](const Table& table) {
    return table.name_head != "function" && table.lines.size() == 1 &&
           table.lines.front().change.base == report.whole.base &&
           table.lines.front().change.fresh == report.whole.fresh;
  });
  return tables;
}

// A line of figures that are written down already.
struct OverviewLine {
  std::string base, fresh, change, of_base, name;
  bool noise = false;
};

OverviewLine overview_line(const DiffReport& report, const Change& change, std::string name) {
  const bool judged = change.looked_at;
  return {diff_value(report, change.base),
          diff_value(report, change.fresh),
          diff_change(report, change),
          judged && !change.beyond_noise ? "noise" : relative_change(change),
          std::move(name),
          judged && !change.beyond_noise};
}

// Every metric's whole, one line each.
std::vector<OverviewLine> metrics_overview(const std::vector<DiffReport>& reports) {
  std::vector<OverviewLine> lines;
  for (const DiffReport& report : reports) {
    if (report.whole_is_judged)
      lines.push_back(overview_line(report, report.whole, diff_figure_name(report)));
  }
  return lines;
}

// RSS, then the classes of which it consists; those that changed by no more than noise, too, as they add up.
std::vector<OverviewLine> memory_overview(const analysis::MemoryDiff& memory) {
  DiffReport bytes;
  bytes.unit = analysis::DiffUnit::kBytes;
  bytes.normalization = analysis::Normalization::kAbsolute;
  std::vector<OverviewLine> lines{overview_line(bytes, memory.rss, "resident memory (RSS)")};
  for (const analysis::MemoryDiffPart& part : memory.parts) {
    analysis::MemoryPart named;
    named.key = part.key;
    lines.push_back(overview_line(bytes, part.bytes, "  " + std::string(label_of(named, memory.traced))));
  }
  return lines;
}

std::string overview_text(const std::string& title, const std::vector<OverviewLine>& lines,
                          const TextOptions& style) {
  if (lines.empty()) return "";
  TextTable text({{"base", Align::kRight},
                  {"new", Align::kRight},
                  {"change ± error", Align::kRight},
                  {"of base", Align::kRight},
                  {"", Align::kLeft, true}});
  for (const OverviewLine& line : lines)
    text.add({line.base, line.fresh, line.change, line.of_base, line.name}, line.noise);
  return title + "\n" + text.text(table_width(style), style.color);
}

std::size_t shown_of(const Table& table, std::size_t top) {
  return top == 0 ? table.lines.size() : std::min(table.lines.size(), top);
}

std::string rest_of(const Table& table, std::size_t shown) {
  return shown < table.lines.size() ? fmt::format("{} more (--top 0 shows all)", table.lines.size() - shown)
                                    : "";
}

std::string side_line(const char* name, const analysis::DiffSide& side, bool of_heap) {
  std::vector<std::string> parts;
  if (side.seconds > 0)
    parts.push_back(analysis::seconds(side.seconds) + (side.labels.size() > 1 ? " each" : ""));
  if (!of_heap) parts.push_back(analysis::counted(side.samples, "sample"));  // else they are places
  if (side.spread) parts.push_back("runs lie apart by " + analysis::percent(*side.spread));
  constexpr double kEven = 0.02;
  if (side.unevenness)
    parts.push_back(*side.unevenness < kEven
                        ? "an even load"
                        : "a load that varied by " + analysis::percent(*side.unevenness) + " over time");
  const std::string more = parts.empty() ? "" : fmt::format(" ({})", fmt::join(parts, ", "));
  return fmt::format("{:4}  {}{}\n", name, side_name(side), more);
}

// Whether an earlier report is of the same metric, with another normalisation: its tables say the same.
bool is_said_before(const std::vector<DiffReport>& reports, std::size_t at) {
  return std::any_of(reports.begin(), reports.begin() + static_cast<std::ptrdiff_t>(at),
                     [&](const DiffReport& report) { return report.metric == reports[at].metric; });
}

std::string one_text(const DiffReport& report, const DiffTextOptions& options, bool only_headline) {
  const std::size_t width = options.style.width;
  std::string out = fill("", diff_headline(report), width, 0);
  if (only_headline) return out;
  for (const Table& table : tables_of(report, options.noise)) {
    if (table.lines.empty()) continue;
    out += "\n" + table.title + "\n";
    TextTable text({{"base", Align::kRight},
                    {"new", Align::kRight},
                    {"change ± error", Align::kRight},
                    {"of base", Align::kRight},
                    {table.name_head, Align::kLeft, true},
                    {"", Align::kLeft}});
    const std::size_t shown = shown_of(table, options.style.top);
    for (std::size_t i = 0; i < shown; ++i) {
      const Line& line = table.lines[i];
      text.add({diff_value(report, line.change.base), diff_value(report, line.change.fresh),
                diff_change(report, line.change), line.noise ? "noise" : relative_change(line.change),
                line.name, line.where},
               line.noise);
    }
    out += text.text(table_width(options.style), options.style.color);
    if (const std::string rest = rest_of(table, shown); !rest.empty()) out += "  " + rest + "\n";
  }
  return out;
}

std::size_t noise_of(const DiffReport& report) {
  return static_cast<std::size_t>(
      std::count_if(report.rows.begin(), report.rows.end(),
                    [](const DiffRow& row) { return row.self.looked_at && !row.self.beyond_noise; }));
}

std::string heading_of(const DiffReport& report) {
  return std::string(model::info_of(report.metric).title);
}

// Names are untrusted text, and Markdown would interpret some of it: also formulas ($), and in pull requests
// mentions of people (@name) and other requests (#1), which are found even in escaped text.
std::string in_markdown(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i], next = i + 1 < text.size() ? text[i + 1] : ' ';
    if (std::string_view("\\`*_[]<>#|&~$").find(c) != std::string_view::npos) out += '\\';
    out += c;
    const bool word =
        (next >= '0' && next <= '9') || (next >= 'a' && next <= 'z') || (next >= 'A' && next <= 'Z');
    if ((c == '@' || c == '#') && word) out += "<!-- -->";
  }
  return out;
}

}  // namespace

std::string diff_text(const std::vector<DiffReport>& reports, const DiffTextOptions& options) {
  if (reports.empty()) return "";
  const DiffReport& first = reports.front();
  const std::size_t width = options.style.width;
  const bool of_heap = model::is_heap(first.metric);
  std::string out = side_line("base", first.base, of_heap) + side_line("new", first.fresh, of_heap) + "\n";
  const std::vector<std::string> doubts = doubt_sentences(first);
  for (std::size_t i = 0; i < doubts.size(); ++i) out += fill("Doubtful: ", doubts[i] + ".", width, 10);
  if (!doubts.empty()) out += "\n";
  for (std::size_t i = 0; i < reports.size(); ++i) {
    if (i > 0) out += "\n";
    if (reports.size() > 1) out += heading_of(reports[i]) + ": ";
    out += one_text(reports[i], options, is_said_before(reports, i));
    // What became of all metrics stands behind the first answer: the first is what was asked for.
    if (i == 0 && reports.size() > 1)
      out += "\n" + overview_text("All that was compared", metrics_overview(reports), options.style);
  }
  if (options.memory != nullptr)
    out += "\n" + overview_text("Memory at the end of what is compared", memory_overview(*options.memory),
                                options.style);
  out += "\n" + fill("", diff_legend(first), width, 0);
  if (const std::size_t noise = noise_of(first); noise > 0 && !options.noise)
    out += fill("",
                fmt::format("{} {} no more than noise (--noise shows them).",
                            analysis::counted(noise, "function"), noise == 1 ? "differs by" : "differ by"),
                width, 0);
  if (const std::string unmatched = unmatched_sentence(first); !unmatched.empty())
    out += fill("", unmatched, width, 0);
  if (options.quality != nullptr) out += fill("Quality: ", sentence_of(*options.quality), width, 2);
  return out;
}

std::string diff_markdown(const std::vector<DiffReport>& reports, const DiffTextOptions& options) {
  if (reports.empty()) return "";
  const DiffReport& first = reports.front();
  std::string out;
  const auto overview = [&](const std::string& title, const std::vector<OverviewLine>& lines) {
    if (lines.empty()) return;
    out += fmt::format("\n{}\n\n| base | new | change | of base | |\n|--:|--:|--:|--:|:--|\n", title);
    for (const OverviewLine& line : lines)
      out += fmt::format("| {} | {} | {} | {} | {} |\n", line.base, line.fresh, in_markdown(line.change),
                         in_markdown(line.of_base), in_markdown(line.name));
  };
  for (std::size_t i = 0; i < reports.size(); ++i) {
    const DiffReport& report = reports[i];
    out += fmt::format("{}### {}: {} → {}\n\n", i == 0 ? "" : "\n", in_markdown(heading_of(report)),
                       in_markdown(side_name(report.base)), in_markdown(side_name(report.fresh)));
    if (i == 0) {
      for (const std::string& doubt : doubt_sentences(report))
        out += "> **Doubtful:** " + in_markdown(doubt) + ".\n\n";
    }
    out += "**" + in_markdown(diff_headline(report)) + "**\n";
    if (is_said_before(reports, i)) continue;
    for (const Table& table : tables_of(report, options.noise)) {
      if (table.lines.empty()) continue;
      out += fmt::format("\n{}\n\n| base | new | change | of base | {} | |\n|--:|--:|--:|--:|:--|:--|\n",
                         table.title, table.name_head);
      const std::size_t shown = shown_of(table, options.style.top);
      for (std::size_t row = 0; row < shown; ++row) {
        const Line& line = table.lines[row];
        out +=
            fmt::format("| {} | {} | {} | {} | {} | {} |\n", diff_value(report, line.change.base),
                        diff_value(report, line.change.fresh), in_markdown(diff_change(report, line.change)),
                        line.noise ? "noise" : in_markdown(relative_change(line.change)),
                        in_markdown(line.name), in_markdown(line.where));
      }
      if (const std::string rest = rest_of(table, shown); !rest.empty())
        out += "\n" + in_markdown(rest) + "\n";
    }
    if (i == 0 && reports.size() > 1) overview("All that was compared", metrics_overview(reports));
  }
  if (options.memory != nullptr)
    overview("Memory at the end of what is compared", memory_overview(*options.memory));
  out += "\n<sub>" + in_markdown(diff_legend(first));
  if (const std::string unmatched = unmatched_sentence(first); !unmatched.empty())
    out += " " + in_markdown(unmatched);
  if (options.quality != nullptr) out += " Quality: " + in_markdown(sentence_of(*options.quality));
  return out + "</sub>\n";
}

}  // namespace fathom::present
