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
inline constexpr double kRunToRunOfKernel = 0.05, kRunToRunOfKernelInPhases = 0.3, kMostSpreadOfKernel = 0.35;
// Of the whole, of each function: which of two small ones beside each other takes the time may be chance.
inline constexpr double kLeastSpreadOfPhases = 0.003, kLeastSpreadOfBusy = 0.002;
// Where threads waited for a CPU, so much of the part of the time that was waited is added to that.
inline constexpr double kSpreadOfKernel = 0.5;

// Whether the first and the second half of a run differ in what they are made of, by more than a tenth beyond what
// samples worth `weight` each differ by chance. True where there are too few pieces to see that.
bool has_phases(const UnionTree& tree, std::size_t first_piece, std::size_t pieces, double weight);

// What is assumed of the shares that functions have of the CPU time of a single run.
void assume_spread(RunScale& scale, const model::Profile& profile, bool phases);

// The same of all CPU time that a run used, by a clock; `kernel_part`: what the kernel took of it. Others on the machine take
// caches, the core's other thread and the clock rate, and no more: CPU time of equal work grows by a part of it, not by
// factors. What changes from moment to moment evens out over a second or so; what stays does not.
double spread_of_total(const model::Profile& profile, bool phases, double kernel_part, double cpu_s);
inline constexpr double kSpreadOfMoments = 0.09, kSpreadOfNeighbours = 0.04, kSpreadOfKernelTotal = 0.1;

// ln of how many times as much a program would have run on a free machine, which had to wait for a CPU for such a part of the
// time in which it could run.
double starvation(double cpu_wait_share);

// Of one recording, what part of the events of a metric is missing: 0 to 1. Unknown losses are none.
double lost_share_of(const model::Profile& profile, model::Metric metric);
// What is lost is anywhere between none of a figure and all of it, so the standard deviation of an even distribution is added
// as a part of the whole.
double spread_of_losses(double lost_share);

// What is assumed of the waits of a single run, and what others on the machine may have done to it. Those that a thread waits for
// run on the same machine, so a wait lasts as much longer as they had to wait for a CPU; and a program that runs for a given
// time waits less often when it has less of them. How long a device takes depends on who else uses it.
void assume_spread_of_waits(RunScale& scale, const model::Profile& profile);
inline constexpr double kRunToRunOfDevices = 0.8, kSpreadOfWaits = 0.2;

// Of each place the part of all it has, with what it calls, that was waited for a device; the last one is of the whole.
std::vector<double> device_parts(const UnionTree& tree);

// Of each place the part of all it has, with what it calls, that the kernel took: 0 to 1. The last one is of the whole.
std::vector<double> kernel_parts(const UnionTree& tree);

}  // namespace fathom::analysis
