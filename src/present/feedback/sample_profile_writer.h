// LLVM's sample profile as text, which clang and rustc read. "FUNCTION:TOTAL:ENTERED", below it the lines, a blank deeper:
// "OFFSET.DISCRIMINATOR: COUNT CALLEE:COUNT", and inlined calls as "OFFSET: CALLEE:TOTAL" with their lines another blank deeper.
// Source: llvm-project, llvm/lib/ProfileData, SampleProfReader.
#pragma once

#include <string>

#include "analysis/feedback/source_profile.h"

namespace fathom::present {

// The function that ran most first.
std::string sample_profile_text(const feedback::SourceProfile& profile);

}  // namespace fathom::present
