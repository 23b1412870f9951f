// The functions of a program that have samples, as machine code with the source of each instruction; and which function each of
// its calls was seen to call.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/feedback/code_samples.h"
#include "analysis/feedback/source_profile.h"
#include "binary/symbolize/options.h"

namespace fathom::feedback {

struct ReadCode {
  std::vector<SampledCode> functions;  // by address
  std::vector<CallTarget> calls;
  std::int64_t outside = 0;  // samples in code of which nothing says where its function begins
};

// `samples` are of `profile` and `selection`, and `code` is their file. kUnsupported if the file has no debug information, here or
// where `names` looks for it.
Result<ReadCode> read_code(const model::Profile& profile, const analysis::Selection& selection,
                           const CodeSamples& samples, annotate::LocalCode& code,
                           const symbolize::Options& names);

}  // namespace fathom::feedback
