// How far another run of the same program would lie from a single one, as far as that one tells. It tells little: a program
// that does the same all the time shows in its pieces how even the machine is to it; one that has phases does not. What the
// kernel does depends on what else runs, most of all in a virtual machine. Measured in docs/performance.md.
#pragma once

#include <cstddef>
#include <vector>

#include "analysis/diff/estimate.h"
#include "analysis/diff/union_tree.h"
#include "model/profile.h"

namespace fathom::analysis {

inline constexpr double kRunToRunOfPhases = 0.08;
// Of what the kernel took.
inline constexpr double kRunToRunOfKernel = 0.05, kRunToRunOfKernelInPhases = 0.3;
// Of the whole, of each function: which of two small ones beside each other takes the time may be chance.
inline constexpr double kLeastSpreadOfPhases = 0.003, kLeastSpreadOfBusy = 0.002;
// Where threads waited for a CPU, so much of the part of the time that was waited is added to that.
inline constexpr double kSpreadOfKernel = 0.5;

// Whether the first and the second half of a run differ in what they are made of, by more than a tenth beyond what
// samples worth `weight` each differ by chance. True where there are too few pieces to see that.
bool has_phases(const UnionTree& tree, std::size_t first_piece, std::size_t pieces, double weight);

// What is assumed of the CPU time of a single run. `shares`: its parts are compared, and not what it used.
void assume_spread(RunScale& scale, const model::Profile& profile, bool phases, bool shares);

// Of each place the part of all it has, with what it calls, that the kernel took: 0 to 1. The last one is of the whole.
std::vector<double> kernel_parts(const UnionTree& tree);

}  // namespace fathom::analysis
