// A report for a terminal: sentences first, then the quality block, then tables.
#pragma once

#include <cstddef>
#include <string>

#include "analysis/summary/report.h"

namespace fathom::present {

struct TextOptions {
  std::size_t width = 100;  // columns; 0: lines as long as they are (--wide)
  bool color = false;
  std::size_t top = 20;  // rows per table; 0 for all. What is cut off is said
  bool threads = false;  // the table of threads
  bool modules = false;  // the table of modules with the health of their symbols
  bool waits = false;    // who waits for what, and for whom
  bool locks = false;    // futexes
  bool heap = false;     // allocators, sizes and lifetimes
  bool blocks = false;   // single blocks of the heap
  bool memory = false;   // what memory was made of
  bool files = false;    // files and peers that threads waited for
};

std::string report_text(const analysis::Report& report, const TextOptions& options);

}  // namespace fathom::present
