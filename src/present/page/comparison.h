// Two recordings as one document for the page: the calls of both (analysis/diff/union_tree.h) with what each
// side spent in them, and every figure as `fathom diff` judged it. The document looks like that of one
// recording (document.h) with two time slices: base, then new. docs/page.md describes the extra fields in its
// head.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "analysis/diff/diff.h"
#include "base/result.h"
#include "present/page/courses.h"
#include "present/page/document.h"

namespace fathom::page {

struct ComparisonOptions {
  std::vector<std::string> base,
      fresh;  // what the commands of the page call the files; of a side several are its runs
  std::vector<std::string> arguments = {};  // extra arguments that the commands need: "--symbols", "debug"
  Courses base_courses = {}, fresh_courses = {};  // of the first run of each side
  std::size_t most_bytes = 11'000'000;            // compressed
};

// One report for each metric, of the same runs; at least one. kUnsupported where it does not fit.
Result<Document> make_comparison(std::span<const analysis::DiffReport> reports,
                                 const ComparisonOptions& options);

}  // namespace fathom::page
