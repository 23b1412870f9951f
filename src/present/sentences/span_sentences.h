// Words for spans: what a piece of time was, and what the slowest spans had in common.
#pragma once

#include <string>
#include <vector>

#include "analysis/spans/span_report.h"

namespace fathom::present {

// "the lock of Persistence::flush (persist.rs:88)", "running in execute_block", "the run queue": names a row of a table.
std::string span_place_words(const analysis::SpanPlace& place);
// "held by worker in flush (persist.rs:90)", "ended by worker in ..."; empty if unknown.
std::string span_holder_words(const analysis::SpanPlace& place, const std::string& thread,
                              const std::string& site, const std::string& line);

// "The slowest 5 % of newPayload (40 of 800, at least 212 ms) take 151 ms more than the fast half: ..."; or that nothing sets them
// apart. Empty if there were too few spans to compare.
std::string slow_sentence(const analysis::SpanKindReport& kind);
// How much of the report to believe: spans without a thread, waits that were not recorded ...
std::vector<std::string> span_notes(const analysis::SpanReport& report);

}  // namespace fathom::present
