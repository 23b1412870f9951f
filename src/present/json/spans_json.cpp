#include "present/json/spans_json.h"

#include <nlohmann/json.hpp>

#include "analysis/core/printable_json.h"
#include "analysis/core/words.h"
#include "present/sentences/span_sentences.h"

namespace fathom::present {

using namespace analysis;  // this folder writes down what lies there

namespace {

using Json = nlohmann::ordered_json;

Json text_or_null(const std::string& text) {
  return text.empty() ? Json() : Json(valid_utf8(text));
}

Json span_place_json(const SpanPlace& place) {
  const bool waits = place.work == SpanWork::kWaiting || place.work == SpanWork::kQueued;
  return {{"work", std::string(to_string(place.work))},
          {"cause", waits ? Json(std::string(to_string(place.cause))) : Json()},
          {"futex", place.work == SpanWork::kWaiting && place.cause == Cause::kFutex
                        ? Json(std::string(to_string(place.futex)))
                        : Json()},
          {"label", text_or_null(place.label)},
          {"site", text_or_null(place.site)},
          {"line", text_or_null(place.line)},
          {"words", valid_utf8(span_place_words(place))}};
}

Json span_holder_json(const std::string& thread, const std::string& site, const std::string& line) {
  if (thread.empty()) return {};
  return {{"thread", valid_utf8(thread)}, {"site", text_or_null(site)}, {"line", text_or_null(line)}};
}

Json segments_json(const std::vector<SpanSegment>& segments, bool path, std::size_t top) {
  Json rows = Json::array();
  for (const SpanSegment& segment : segments) {
    if (top != 0 && rows.size() == top) break;
    Json row = span_place_json(segment.place);
    row["total_ns"] = segment.total_ns;
    if (path) {
      row["thread"] = text_or_null(segment.thread);
    } else {
      row["spans"] = segment.spans;
      row["holder"] = span_holder_json(segment.holder.thread, segment.holder.site, segment.holder.line);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

Json slow_json(const SpanKindReport& kind, std::size_t top) {
  if (!kind.slow) return {};
  const SlowSpans& slow = *kind.slow;
  Json json = {{"count", slow.count},
               {"least_ns", slow.least_ns},
               {"mean_ns", slow.slow_mean_ns},
               {"fast_count", slow.fast_count},
               {"fast_mean_ns", slow.fast_mean_ns},
               {"claimed", slow.is_claimed()},
               {"sentence", valid_utf8(slow_sentence(kind))},
               {"causes", Json::array()}};
  for (const SlowCause& cause : slow.causes) {
    if (top != 0 && json["causes"].size() == top) break;
    Json row = span_place_json(cause.place);
    row["slow_mean_ns"] = cause.slow_ns;
    row["fast_mean_ns"] = cause.fast_ns;
    row["more_ns"] = cause.more_ns();
    row["error_ns"] = cause.error_ns;
    row["certain"] = cause.is_certain;
    row["holder"] = span_holder_json(cause.holder_thread, cause.holder_site, cause.holder_line);
    row["behind"] = Json::array();
    for (const SlowDetail& detail : cause.behind) {
      Json of = span_place_json(detail.place);
      of["thread"] = valid_utf8(detail.thread);
      of["mean_ns"] = detail.mean_ns;
      row["behind"].push_back(std::move(of));
    }
    json["causes"].push_back(std::move(row));
  }
  return json;
}

}  // namespace

std::string to_json(const SpanReport& report, const std::string& target, std::size_t top) {
  Json json;
  json["format_version"] = 1;
  json["target"] = valid_utf8(target);
  json["duration_s"] = report.duration_s;
  json["waits_recorded"] = report.has_waits;
  json["unwalked_share"] = report.unwalked_share;
  json["notes"] = Json::array();
  for (const std::string& note : span_notes(report)) json["notes"].push_back(valid_utf8(note));
  json["kinds"] = Json::array();
  for (const SpanKindReport& kind : report.kinds) {
    Json row = {{"name", valid_utf8(kind.name)},
                {"count", kind.count},
                {"per_s", kind.rate},
                {"cut", kind.cut},
                {"seen", kind.seen},
                {"total_ns", kind.total_ns},
                {"seen_ns", kind.seen_ns},
                {"longest_ns", kind.max_ns},
                {"quantiles", Json::array()}};
    for (const SpanQuantile& quantile : kind.quantiles)
      row["quantiles"].push_back({{"share", quantile.share},
                                  {"ns", quantile.ns},
                                  {"low_ns", quantile.low_ns},
                                  {"high_ns", quantile.high_ns ? Json(*quantile.high_ns) : Json()}});
    row["segments"] = segments_json(kind.segments, false, top);
    row["path"] = segments_json(kind.path, true, top);
    row["slow"] = slow_json(kind, top);
    json["kinds"].push_back(std::move(row));
  }
  return analysis::printable_json(json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace fathom::present
