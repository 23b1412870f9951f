// Estimates in the cells of tables: with the digits that their error leaves them.
#pragma once

#include <string>

#include "analysis/core/heap.h"

namespace fathom::present {

// "61,000" of 61,234 ±3,000; "≤ 6,500" where the error is as large as the value; exact numbers as they are.
std::string count_cell(const analysis::HeapAmount& amount);

// A value and its error, as two cells: "976.6 KiB" and "±60.0 KiB"; "≤ 2.4 MiB" and "" where the error is as large as the
// value; exact ones without an error.
struct EstimateCells {
  std::string value, error;
};
EstimateCells bytes_cells(const analysis::HeapAmount& amount);
EstimateCells count_cells(const analysis::HeapAmount& amount);

}  // namespace fathom::present
