// A comparison for a terminal: the answer, the tables of what changed by more than noise, and how to read them. The same as
// Markdown, for a pull request.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "analysis/diff/diff.h"
#include "analysis/diff/memory_diff.h"
#include "analysis/diff/totals.h"
#include "analysis/summary/side_quality.h"
#include "present/text/text_report.h"

namespace fathom::present {

struct DiffTextOptions {
  TextOptions style = {};  // `top`: rows per table, 0 for all; reports what is cut off
  bool noise = false;      // rows that are no more than noise, too: grey, by name, below the others
  const std::vector<analysis::Total>* totals = nullptr;  // of both sides; outlives the call
  // At most so many lines: tables are shortened, and only what changed of the other metrics is said. 0: as many as it takes.
  std::size_t lines = 0;
  const analysis::MemoryDiff* memory =
      nullptr;  // what RSS consists of, where both sides know it; outlives the call
  const analysis::DiffQuality* quality = nullptr;  // of the recordings; outlives the call
};

// The reports are of one comparison, a metric each; the first is the one that was asked for.
std::string diff_text(const std::vector<analysis::DiffReport>& reports, const DiffTextOptions& options);
std::string diff_markdown(const std::vector<analysis::DiffReport>& reports, const DiffTextOptions& options);

}  // namespace fathom::present
