#include "present/text/text_spans.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/core/words.h"
#include "present/sentences/span_sentences.h"
#include "present/text/heading.h"
#include "present/text/rows_shown.h"
#include "present/text/text_table.h"

namespace fathom::present {
namespace {

using analysis::SpanKindReport;
using analysis::SpanReport;
using analysis::SpanSegment;

constexpr double kLeastRow = 0.005;    // of the time of a kind
constexpr std::size_t kMostKinds = 5;  // with tables of their own

std::string span_ns(double ns) {
  return analysis::seconds(ns * 1e-9);
}

std::string quantile_cell(const analysis::SpanQuantile& quantile) {
  return span_ns(static_cast<double>(quantile.ns));
}

// "3.0 to 3.4 ms": of a row of the table above.
std::string interval_words(const SpanKindReport& kind) {
  std::string text;
  for (const analysis::SpanQuantile& quantile : kind.quantiles) {
    text +=
        fmt::format("{}p{:g} {} ({}{})", text.empty() ? "" : ", ", quantile.share * 100,
                    quantile_cell(quantile), span_ns(static_cast<double>(quantile.low_ns)),
                    quantile.high_ns ? " to " + span_ns(static_cast<double>(*quantile.high_ns)) : " or more");
  }
  return text;
}

std::string kinds_table(const SpanReport& report, const TextOptions& options) {
  TextTable table({{"count", Align::kRight},
                   {"per s", Align::kRight},
                   {"total", Align::kRight},
                   {"p50", Align::kRight},
                   {"p95", Align::kRight},
                   {"p99", Align::kRight},
                   {"longest", Align::kRight},
                   {"span", Align::kLeft, true}});
  const std::size_t shown = rows_shown(report.kinds.size(), options);
  for (std::size_t i = 0; i < shown; ++i) {
    const SpanKindReport& kind = report.kinds[i];
    std::vector<std::string> cells = {analysis::with_commas(static_cast<std::int64_t>(kind.count)),
                                      fmt::format("{:.3g}", kind.rate), span_ns(kind.total_ns)};
    for (std::size_t q = 0; q < 3; ++q)
      cells.push_back(q < kind.quantiles.size() ? quantile_cell(kind.quantiles[q]) : "-");
    cells.push_back(kind.count == 0 ? "-" : span_ns(static_cast<double>(kind.max_ns)));
    cells.push_back(analysis::printable(kind.name));
    table.add(std::move(cells));
  }
  std::string text = table.text(table_width(options), options.color);
  if (shown < report.kinds.size())
    text += fmt::format("  ... {} more (--top 0 shows all)\n", report.kinds.size() - shown);
  return text;
}

std::string segments_table(const SpanKindReport& kind, const std::vector<SpanSegment>& segments, bool path,
                           const TextOptions& options) {
  std::vector<TextTable::Column> columns = {
      {"share", Align::kRight}, {"total", Align::kRight}, {"per span", Align::kRight}};
  if (path) columns.push_back({"thread", Align::kLeft});
  columns.push_back({path ? "what it did" : "where the time goes", Align::kLeft, true});
  TextTable table(std::move(columns));
  double rest = 0;
  std::size_t shown = 0, left = 0;
  for (const SpanSegment& segment : segments) {
    const bool full = options.top != 0 && shown == options.top;
    if (full || (segment.total_ns < kLeastRow * kind.seen_ns && options.top != 0)) {
      rest += segment.total_ns;
      ++left;
      continue;
    }
    ++shown;
    const std::string by =
        span_holder_words(segment.place, segment.holder.thread, segment.holder.site, segment.holder.line);
    std::vector<std::string> cells = {analysis::percent(segment.total_ns / kind.seen_ns),
                                      span_ns(segment.total_ns),
                                      span_ns(segment.total_ns / static_cast<double>(kind.seen))};
    if (path) cells.push_back(analysis::printable(segment.thread));
    cells.push_back(span_place_words(segment.place) + (by.empty() ? "" : ", " + by));
    table.add(std::move(cells));
  }
  std::string text = table.text(table_width(options), options.color);
  if (left != 0)
    text += fmt::format("  ... {} more with {} (--top 0 shows all)\n", left,
                        analysis::percent(rest / kind.seen_ns));
  return text;
}

// Worth a table of its own only if another thread is on it.
bool has_other_threads(const SpanKindReport& kind) {
  return std::ranges::any_of(kind.segments,
                             [](const SpanSegment& segment) { return !segment.holder.thread.empty(); });
}

}  // namespace

std::string spans_text(const SpanReport& report, const TextOptions& options) {
  if (report.kinds.empty()) return "No span is in the selected time.\n";
  std::string text = options.color ? "\x1b[1mSpans\x1b[0m\n" : "Spans\n";
  text += kinds_table(report, options);
  std::string sentences;
  for (std::size_t i = 0; i < std::min(report.kinds.size(), kMostKinds); ++i)
    if (const std::string sentence = slow_sentence(report.kinds[i]); !sentence.empty())
      sentences += fill("  ", sentence, options.width, 4);
  if (!sentences.empty()) text += heading("Slow against fast", options) + sentences;
  std::size_t tables = 0;
  for (const SpanKindReport& kind : report.kinds) {
    if (kind.seen == 0) continue;
    if (tables++ == kMostKinds && options.top != 0) break;
    const std::string name = analysis::printable(kind.name);
    text += heading(name, options);
    text += fill("  ", interval_words(kind) + "; in parentheses: 95 % intervals.", options.width, 4);
    text += segments_table(kind, kind.segments, false, options);
    if (has_other_threads(kind))
      text += heading("Critical path of " + name, options) + segments_table(kind, kind.path, true, options);
  }
  std::string notes;
  for (const std::string& note : span_notes(report)) notes += fill("Note: ", note, options.width, 2);
  return notes.empty() ? text : text + "\n" + notes;
}

}  // namespace fathom::present
