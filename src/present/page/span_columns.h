// The spans of a recording for the page: when each began, how long it took and on which thread, so that a page draws them over time
// and by length. Pure.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "model/profile.h"
#include "present/page/call_nodes.h"
#include "present/page/columns.h"

namespace fathom::page {

inline constexpr std::size_t kMostSpanKinds = 8, kMostSpanRows = 20'000;

struct SpanTrack {
  struct Kind {
    std::string name;
    std::uint64_t count = 0;    // of all whose time is known; the longest of them are rows
    std::uint64_t untimed = 0;  // with another clock than the recording's: only their lengths are known
    std::uint64_t p50_ns = 0, p95_ns = 0, most_ns = 0;
  };
  struct Row {
    std::uint32_t kind = 0;
    std::uint64_t start_ns = 0, length_ns = 0;  // from the start of the recording
    std::string thread;                         // name; empty: none, or several
  };
  std::vector<Kind> kinds;  // most time first; phases between marks are none of them
  std::vector<Row> rows;    // by start
};

// With at most kMostSpanKinds kinds and kMostSpanRows rows.
SpanTrack spans_of(const model::Profile& profile);

// The spans to which the recording was cut (analysis/spans/keep_spans.h).
struct SpanCut {
  std::string name;
  double slower_s = 0;
  std::optional<double> faster_s = {};
};

// Columns "span.*". The head's object: kinds, the cut, and whether the page may ask its server for another one. null without spans.
nlohmann::ordered_json add_spans(const SpanTrack& track, const std::optional<SpanCut>& cut, bool can_ask,
                                 Texts& texts, Columns& columns);

}  // namespace fathom::page
