// Profiles that compilers and linkers read. Standard error then has which file they are of, and what was left out.
#pragma once

#include <string>

#include "analysis/core/selection.h"
#include "base/result.h"
#include "model/profile.h"

namespace fathom::cli {

// `binary`: the program or library that will be optimised; empty: the recorded file that has the most samples.
Result<std::string> bolt_export(const model::Profile& profile, const analysis::Selection& selection,
                                const std::string& binary);

// The same for clang and rustc; names are read by a process apart.
Result<std::string> sample_profile_export(const model::Profile& profile, const analysis::Selection& selection,
                                          const std::string& binary, const std::string& symbols);

}  // namespace fathom::cli
