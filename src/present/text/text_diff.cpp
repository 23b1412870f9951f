#include "present/text/text_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <type_traits>
#include <utility>

#include "analysis/core/words.h"
#include "base/stable_sort.h"
#include "present/sentences/diff_figures.h"
#include "present/sentences/diff_legend.h"
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
  stable_sort_rows(table.lines.begin(), table.lines.end(), [](const Line& a, const Line& b) {
    return std::fabs(a.change.change) > std::fabs(b.change.change);
  });
  if (!with_noise) return table;
  stable_sort_rows(noise.begin(), noise.end(), [](const Line& a, const Line& b) { return a.name < b.name; });
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

std::size_t lines_of(std::string_view text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

// The first lines of a paragraph; names can be longer than a screen.
std::string cut_to(std::string text, std::size_t lines) {
  std::size_t at = 0;
  for (std::size_t i = 0; i < lines; ++i) {
    at = text.find('\n', at);
    if (at == std::string::npos || ++at == text.size()) return text;
  }
  text.resize(at - 1);
  return text + " ...\n";
}

std::string table_text(const DiffReport& report, const Table& table, std::size_t shown,
                       const DiffTextOptions& options) {
  TextTable text({{"base", Align::kRight},
                  {"new", Align::kRight},
                  {"change ± error", Align::kRight},
                  {"of base", Align::kRight},
                  {table.name_head, Align::kLeft, true},
                  {"", Align::kLeft}});
  for (std::size_t i = 0; i < shown; ++i) {
    const Line& line = table.lines[i];
    text.add({diff_value(report, line.change.base), diff_value(report, line.change.fresh),
              diff_change(report, line.change), line.noise ? "noise" : relative_change(line.change),
              line.name, line.where},
             line.noise);
  }
  std::string out = "\n" + table.title + "\n" + text.text(table_width(options.style), options.style.color);
  if (const std::string rest = rest_of(table, shown); !rest.empty()) out += "  " + rest + "\n";
  return out;
}

std::string tables_text(const DiffReport& report, const DiffTextOptions& options) {
  std::string out;
  for (const Table& table : tables_of(report, options.noise)) {
    if (!table.lines.empty()) out += table_text(report, table, shown_of(table, options.style.top), options);
  }
  return out;
}

// As many rows of each table as fit into so many lines, shared out in the order of the tables; those without room are named.
std::string tables_text_in(const DiffReport& report, const DiffTextOptions& options, std::size_t room) {
  constexpr std::size_t kAround = 3,
                        kLeast = kAround + 2;  // an empty line, title and heads; a row and what is left out
  std::vector<Table> tables = tables_of(report, options.noise);
  std::erase_if(tables, [](const Table& table) { return table.lines.empty(); });
  const std::size_t fit = std::min(tables.size(), room == 0 ? 0 : (room - 1) / kLeast);
  std::string out;
  for (std::size_t i = 0; i < fit; ++i) {
    const std::size_t left = room - 1 - lines_of(out);
    const std::size_t share = std::max(left / (fit - i), kLeast);
    std::size_t shown = std::min(shown_of(tables[i], options.style.top), share - kAround);
    if (shown < tables[i].lines.size()) shown = std::min(shown, share - kAround - 1);
    out += table_text(report, tables[i], shown, options);
  }
  std::string unseen;
  for (std::size_t i = fit; i < tables.size(); ++i) unseen += (unseen.empty() ? "" : ", ") + tables[i].title;
  if (!unseen.empty() && room > 0) out += fmt::format("More tables (--top 10): {}\n", unseen);
  return out;
}

bool has_changed(const DiffReport& report) {
  return (report.whole_is_judged && report.whole.beyond_noise) ||
         std::any_of(report.rows.begin(), report.rows.end(),
                     [](const DiffRow& row) { return row.self.beyond_noise || row.total.beyond_noise; });
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

namespace {

// Of the first report, with the totals above it or without.
std::string first_headline(const DiffReport& first, const DiffTextOptions& options) {
  const bool has_total = options.totals != nullptr && !options.totals->empty() && first.whole_is_judged &&
                         first.metric == model::Metric::kCpu;
  return has_total ? diff_parts_sentence(first) : diff_headline(first);
}

// Waits have many causes, most of which are the same on both sides: those that changed, the most frequent first.
std::vector<const analysis::Total*> shown_totals(const std::vector<analysis::Total>& totals) {
  constexpr std::size_t kMostCauses = 3;
  std::size_t causes = 0;
  std::vector<const analysis::Total*> shown;
  for (const analysis::Total& total : totals) {
    if (total.kind == analysis::TotalKind::kWaits && (!total.change.beyond_noise || ++causes > kMostCauses))
      continue;
    shown.push_back(&total);
  }
  return shown;
}

std::string totals_text(const DiffTextOptions& options, const std::string& work) {
  std::string out;
  if (options.totals == nullptr) return out;
  for (const analysis::Total* total : shown_totals(*options.totals))
    out += fill("", total_sentence(*total, work) + ".", options.style.width, 2);
  return out.empty() ? out : out + "\n";
}

std::string doubts_text(const DiffReport& first, const DiffTextOptions& options) {
  constexpr std::size_t kMost = 3, kMostLines = 3;
  const std::vector<std::string> doubts = doubt_sentences(first);
  const std::size_t shown = options.lines == 0 ? doubts.size() : std::min(doubts.size(), kMost);
  std::string out;
  for (std::size_t i = 0; i < shown; ++i) {
    std::string text = doubts[i] + ".";
    if (i + 1 == shown && shown < doubts.size())
      text += fmt::format(" {} more (--top 10).", analysis::counted(doubts.size() - shown, "doubt"));
    text = fill("Doubtful: ", text, options.style.width, 10);
    out += options.lines == 0 ? text : cut_to(std::move(text), kMostLines);
  }
  return out.empty() ? out : out + "\n";
}

std::string noise_text(const DiffReport& first, const DiffTextOptions& options) {
  const std::size_t noise = noise_of(first);
  if (noise == 0 || options.noise) return "";
  return fill("",
              fmt::format("{} {} no more than noise (--noise shows them).",
                          analysis::counted(noise, "function"), noise == 1 ? "differs by" : "differ by"),
              options.style.width, 0);
}

// Everything, each metric with its tables.
std::string full_text(const std::vector<DiffReport>& reports, const DiffTextOptions& options) {
  const DiffReport& first = reports.front();
  const std::size_t width = options.style.width;
  std::string out;
  for (std::size_t i = 0; i < reports.size(); ++i) {
    if (i > 0) out += "\n";
    std::string headline = i == 0 ? first_headline(first, options) : diff_headline(reports[i]);
    if (reports.size() > 1) headline = heading_of(reports[i]) + ": " + headline;
    out += fill("", headline, width, 0);
    if (!is_said_before(reports, i)) out += tables_text(reports[i], options);
    // What became of all metrics stands behind the first answer: the first is what was asked for.
    if (i == 0 && reports.size() > 1)
      out += "\n" + overview_text("All that was compared", metrics_overview(reports), options.style);
  }
  if (options.memory != nullptr)
    out += "\n" + overview_text("Memory at the end of what is compared", memory_overview(*options.memory),
                                options.style);
  out += "\n" + fill("", diff_legend(first), width, 0) + noise_text(first, options);
  if (const std::string unmatched = unmatched_sentence(first); !unmatched.empty())
    out += fill("", unmatched, width, 0);
  if (options.quality != nullptr) out += fill("Quality: ", sentence_of(*options.quality), width, 2);
  return out;
}

// Something is missing that a reader must know of before the figures.
bool is_poor(const analysis::DiffQuality& quality) {
  constexpr double kMostComplete = 0.9, kManyUnnamed = 0.1;
  const auto poor = [&](const analysis::SideQuality& side) {
    return side.lost + side.lost_waits + side.lost_heap_events > 0 ||
           side.complete_share.value_or(1) < kMostComplete || side.unnamed_share.value_or(0) > kManyUnnamed;
  };
  return poor(quality.base) || poor(quality.fresh);
}

// On one screen: of the first metric the tables, of the others what changed.
std::string short_text(const std::vector<DiffReport>& reports, const DiffTextOptions& options,
                       std::size_t room) {
  constexpr std::size_t kMostLines = 3, kMostOfOthers = 2, kMostOthers = 3;
  const DiffReport& first = reports.front();
  const std::size_t width = options.style.width;
  std::string head = cut_to(fill("", first_headline(first, options), width, 0), kMostLines);
  std::string tail, same;
  std::size_t others = 0;
  for (std::size_t i = 1; i < reports.size(); ++i) {
    if (is_said_before(reports, i)) continue;
    if (has_changed(reports[i]) && ++others <= kMostOthers)
      tail += "\n" +
              cut_to(fill(heading_of(reports[i]) + ": ", diff_headline(reports[i]), width, 2), kMostOfOthers);
    else if (!has_changed(reports[i]))
      same += (same.empty() ? "" : ", ") + heading_of(reports[i]);
  }
  tail += "\n";
  if (others > kMostOthers)
    tail += fmt::format("{} more changed (--metric NAME, or --top 10).\n",
                        analysis::counted(others - kMostOthers, "metric"));
  if (!same.empty()) tail += cut_to(fill("No more than noise: ", same + ".", width, 2), 2);
  tail += fill("", diff_short_legend(first), width, 0);
  if (options.quality != nullptr && is_poor(*options.quality))
    tail += cut_to(fill("Quality: ", sentence_of(*options.quality), width, 2), kMostLines);
  const std::size_t used = lines_of(head) + lines_of(tail);
  return head + tables_text_in(first, options, room > used ? room - used : 0) + tail;
}

}  // namespace

std::string diff_text(const std::vector<DiffReport>& reports, const DiffTextOptions& options) {
  if (reports.empty()) return "";
  const DiffReport& first = reports.front();
  const bool of_heap = model::is_heap(first.metric);
  std::string out = side_line("base", first.base, of_heap) + side_line("new", first.fresh, of_heap) + "\n";
  out += totals_text(options, first.work) + doubts_text(first, options);
  if (options.lines == 0) return out + full_text(reports, options);
  const std::size_t used = lines_of(out);
  return out + short_text(reports, options, options.lines > used ? options.lines - used : 0);
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
    if (i == 0 && options.totals != nullptr) {
      for (const analysis::Total* total : shown_totals(*options.totals))
        out += "- " + in_markdown(total_sentence(*total, report.work)) + "\n";
      if (!options.totals->empty()) out += "\n";
    }
    out += "**" + in_markdown(i == 0 ? first_headline(report, options) : diff_headline(report)) + "**\n";
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
