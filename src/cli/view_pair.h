// Two recordings, or several runs on either side, as one page for `fathom view BASE NEW`: what `fathom diff` prints about them.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/selection_options.h"
#include "present/page/comparison.h"

namespace fathom::cli {

// By its first bytes, also of a packed file. Also of what is no file: a pattern or a folder of dumps.
bool is_jemalloc_dump(const std::string& file);

// At least one of either side; a file that is named twice is read once. kNotFound where they have no metric in common.
Result<page::Document> compare_files(const std::vector<std::string>& base,
                                     const std::vector<std::string>& fresh, const SelectionOptions& reading,
                                     const page::ComparisonOptions& options);

}  // namespace fathom::cli
