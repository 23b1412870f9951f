// A report for a terminal: the answer in one screen, the tables that were asked for, or everything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "analysis/summary/report.h"
#include "analysis/summary/section.h"

namespace fathom::present {

enum class Layout : std::uint8_t {
  kFirstScreen,  // the answer, at most 40 lines
  kAsked,        // what was asked for, between a line of summary and one of quality
  kAll,          // sentences, quality, then every table
};

struct TextOptions {
  Layout layout = Layout::kAll;
  std::string file = {};    // the recording's path, for commands that are named
  std::size_t width = 100;  // columns; 0: lines as long as they are (--wide)
  bool color = false;
  double least_share = 0;            // of a row of functions, lines and groups
  bool cut_names = true;             // names in tables to the width; false in pipes
  std::size_t top = 20;              // rows per table; 0 for all. Reports what is cut off
  analysis::Sections sections = {};  // the tables to print; kFunctions: where no other one was asked for
  bool heap_by_itself = false;  // groups are of the heap, and CPU time was not what was asked for by name
};

// Of tables: 0 where names stay whole.
inline std::size_t table_width(const TextOptions& options) {
  return options.cut_names ? options.width : 0;
}

std::string report_text(const analysis::Report& report, const TextOptions& options);

}  // namespace fathom::present
