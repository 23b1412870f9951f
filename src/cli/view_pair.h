// Two recordings as one page for `fathom view BASE NEW`: what `fathom diff` says of them.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/selection_options.h"
#include "page/comparison.h"

namespace fathom::cli {

// Also of what is no file: a pattern or a folder of dumps.
Result<bool> is_jemalloc_dump(const std::string& file);

// kNotFound where the two have no metric in common.
Result<page::Document> compare_files(const std::string& base, const std::string& fresh,
                                     const SelectionOptions& reading, const page::ComparisonOptions& options);

}  // namespace fathom::cli
