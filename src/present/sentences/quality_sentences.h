// What makes the numbers of a recording worth less, and what to do about it, in sentences.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analysis/summary/report.h"
#include "analysis/summary/side_quality.h"

namespace fathom::present {

struct Complaint {
  std::string text;
  std::string remedy;      // may be empty
  double importance = 0;   // 0 to 1: the part of the numbers that it concerns
  bool is_certain = true;  // false: found in so few samples that it may be chance; worth a count
};

Complaint complaint_of(const analysis::Finding& finding);
// Of the recording and of its heap: the most important first, what may be chance last. Empty: there is nothing to
// complain about.
std::vector<Complaint> complaints_of(const analysis::Report& report);

// "1,138 samples, 0 lost, 99.8 % of stacks complete": the block of complaints in one line.
std::string quality_sentence(const analysis::Report& report);

// The samples expected from the CPU time, with the error, and why the count may differ: "88 ±19 expected
// (75.0 %): ...".
std::string expected_samples_text(const analysis::Report& report);

// What the heap tracer took in the target, which tables and pictures leave out: "77 % of its CPU time, 647 samples"; "" if
// that is nothing.
std::string tracer_share_text(const analysis::CallTree& tree);

// The profiler's own CPU time: "fathom took 0.5 % of a core while it recorded, and 187 ms to start and for
// names"; "" if the recording does not have it.
std::string own_cost_sentence(const model::Profile& profile);
// The same in parts, for the block: "22.7 ms CPU while recording (0.8 % of one), 50.3 ms to start, 137 ms for names".
std::string own_cost_parts(const analysis::Report& report);

// Of a comparison, in one line: "base: 0 of 4,386 samples lost, 99.8 % of stacks complete, ...; new: ...".
std::string sentence_of(const analysis::DiffQuality& quality);

// Why a walk ended (base/abi/walk.h).
std::string_view describe_walk_end(model::WalkEnd end);

}  // namespace fathom::present
