// How often each instruction of a function ran, as far as samples of time show it. A sample falls on an instruction as often as it
// takes time, and all instructions of a basic block run equally often: so each has the mean of its block. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/feedback/code_samples.h"
#include "base/arch/common/disassembly.h"

namespace fathom::feedback {

// For each instruction of `code`, which is one function, the samples for one instruction of its block. `samples` are those of the
// function, ascending; those that fall between two instructions belong to the one before.
std::vector<double> block_rates(const std::vector<arch::DecodedInstruction>& code,
                                const std::vector<AddressCount>& samples);

}  // namespace fathom::feedback
