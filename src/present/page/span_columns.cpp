#include "present/page/span_columns.h"

#include <algorithm>
#include <span>

#include "analysis/core/words.h"
#include "analysis/spans/span_report.h"
#include "analysis/spans/span_set.h"
#include "base/stable_sort.h"
#include "present/page/parts.h"

namespace fathom::page {
namespace {

std::string thread_of(const model::Profile& profile, const analysis::WholeSpan& whole) {
  std::string name;
  for (const analysis::SpanPart& part : whole.parts) {
    if (part.thread == model::kNoThread) return "";
    const std::string here = analysis::printable(profile.strings[profile.threads[part.thread.value].name]);
    if (!name.empty() && name != here) return "";
    name = here;
  }
  return name;
}

// Moves the longest `most` of them to the front, so that the rest can be left out.
void keep_longest(std::vector<const analysis::WholeSpan*>& spans, std::size_t most) {
  if (spans.size() <= most) return;
  std::nth_element(spans.begin(), spans.begin() + static_cast<std::ptrdiff_t>(most), spans.end(),
                   [](const auto* a, const auto* b) { return a->length_ns() > b->length_ns(); });
  spans.resize(most);
}

}  // namespace

SpanTrack spans_of(const model::Profile& profile) {
  SpanTrack track;
  if (profile.spans.empty()) return track;
  const std::uint64_t start = profile.meta.start_ns, end = profile.meta.end_ns;
  std::vector<analysis::SpansOfKind> all = analysis::find_spans(profile, {});
  std::erase_if(
      all, [](const auto& kind) { return kind.source == model::SpanSource::kMark || kind.spans.empty(); });
  if (all.size() > kMostSpanKinds) all.resize(kMostSpanKinds);
  for (const analysis::SpansOfKind& spans : all) {
    SpanTrack::Kind kind;
    kind.name = analysis::printable(spans.name);
    std::vector<const analysis::WholeSpan*> shown;
    std::vector<std::uint64_t> lengths;
    for (const analysis::WholeSpan& span : spans.spans) {
      lengths.push_back(span.length_ns());
      if (span.start_ns >= start && span.start_ns < end)
        shown.push_back(&span);
      else
        ++kind.untimed;
    }
    std::ranges::sort(lengths);
    kind.count = shown.size();
    kind.p50_ns = analysis::span_quantile(lengths, 0.5).ns;
    kind.p95_ns = analysis::span_quantile(lengths, 0.95).ns;
    kind.most_ns = lengths.back();
    keep_longest(shown, kMostSpanRows / all.size());
    for (const analysis::WholeSpan* span : shown)
      track.rows.push_back({static_cast<std::uint32_t>(track.kinds.size()), span->start_ns - start,
                            span->length_ns(), thread_of(profile, *span)});
    track.kinds.push_back(std::move(kind));
  }
  stable_sort_rows(track.rows, {}, &SpanTrack::Row::start_ns);
  return track;
}

nlohmann::ordered_json add_spans(const SpanTrack& track, const std::optional<SpanCut>& cut, bool can_ask,
                                 Texts& texts, Columns& columns) {
  using Row = SpanTrack::Row;
  if (track.kinds.empty()) return nullptr;
  columns.add_unsigned("span.kind", column(track.rows, [](const Row& row) { return row.kind; }));
  columns.add_differences("span.start_ns",
                          differences(column(track.rows, [](const Row& row) { return row.start_ns; })));
  columns.add_unsigned("span.length_ns", column(track.rows, [](const Row& row) { return row.length_ns; }));
  columns.add_unsigned("span.thread",
                       column(track.rows, [&](const Row& row) { return texts.of(row.thread); }));
  auto kinds = nlohmann::ordered_json::array();
  for (const SpanTrack::Kind& kind : track.kinds)
    kinds.push_back({{"name", kind.name},
                     {"count", kind.count},
                     {"untimed", kind.untimed},
                     {"p50_ns", kind.p50_ns},
                     {"p95_ns", kind.p95_ns},
                     {"most_ns", kind.most_ns}});
  nlohmann::ordered_json of_cut = nullptr;
  if (cut) {
    of_cut = {{"name", analysis::printable(cut->name)}, {"slower_s", cut->slower_s}};
    of_cut["faster_s"] = cut->faster_s ? nlohmann::ordered_json(*cut->faster_s) : nullptr;
  }
  return {{"kinds", std::move(kinds)}, {"cut", std::move(of_cut)}, {"can_ask", can_ask}};
}

}  // namespace fathom::page
