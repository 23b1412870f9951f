// How much another run of the same program would differ from a single one, as far as that one shows. It shows
// little: the pieces of a steady program reveal how even the machine is for it; those of a program with
// phases do not. Kernel time depends on the other programs, above all in a virtual machine. Measured in
// docs/performance.md.
#pragma once

#include <cstddef>
#include <vector>

#include "analysis/core/wait_cause.h"
#include "analysis/diff/estimate.h"
#include "analysis/diff/union_tree.h"
#include "model/profile.h"

namespace fathom::analysis {

inline constexpr double kRunToRunOfPhases = 0.08;
// For kernel time.
inline constexpr double kRunToRunOfKernel = 0.05, kRunToRunOfKernelInPhases = 0.3, kMostSpreadOfKernel = 0.35;
// As a fraction of the whole, for each function: chance may decide which of two small adjacent functions
// takes the time.
inline constexpr double kLeastSpreadOfPhases = 0.003, kLeastSpreadOfBusy = 0.002;
// When threads waited for a CPU, this fraction of the waiting share is added.
inline constexpr double kSpreadOfKernel = 0.5;

// Whether the first and the second half of a run differ in composition, by more than a tenth beyond the
// chance differences of samples worth `weight` each. True if there are too few pieces to see that.
bool has_phases(const UnionTree& tree, std::size_t first_piece, std::size_t pieces, double weight);

// Sets the assumed spread of functions' shares of the CPU time of a single run.
void assume_spread(RunScale& scale, const model::Profile& profile, bool phases);

// The same for a run's total CPU time by a clock; `kernel_part`: the kernel's share of it. Other programs
// take caches, the sibling hyperthread and clock rate, and no more: the CPU time of equal work grows by a
// fraction, not by factors. Short disturbances even out over about a second; lasting ones do not.
double spread_of_total(const model::Profile& profile, bool phases, double kernel_part, double cpu_s);
inline constexpr double kSpreadOfMoments = 0.09, kSpreadOfNeighbours = 0.04, kSpreadOfKernelTotal = 0.1;

// ln of the factor by which a program would have run more on a free machine, if it waited for a CPU for this
// share of the time when it could run.
double starvation(double cpu_wait_share);

// The fraction of a metric's events missing from one recording: 0 to 1. Unknown losses count as none.
double lost_share_of(const model::Profile& profile, model::Metric metric);
// Lost events may belong to a figure in full or not at all, so the standard deviation of a uniform
// distribution is added as a fraction of the whole.
double spread_of_losses(double lost_share);

// Sets the assumed spread of the waits of a single run, and the possible effect of other programs. A thread
// waits for peers on the same machine, so a wait takes longer by the time they wait for a CPU; and a program
// that runs for a fixed time waits less often if it gets less CPU. The latency of a device depends on its
// other users.
void assume_spread_of_waits(RunScale& scale, const model::Profile& profile);
inline constexpr double kRunToRunOfDevices = 0.8, kSpreadOfWaits = 0.2;
// For how often a thread sleeps or waits for a device, which the program decides, and not its other threads.
inline constexpr double kSpreadOfOwnWaits = 0.05;

// Whether the runs may be of a program that runs for a fixed time: such runs are about as long. Only then do
// other programs decide how much of its work it does. True if a length is unknown.
bool may_have_fixed_time(const std::vector<double>& seconds);

// Other programs delay two single runs side by side alike, so only the difference of both delays counts, and
// half of what they have in common. On a machine with load 20, equal runs waited for locks for 2.7 to 6.0 s
// while their threads got a CPU for a tenth of the time, so by a factor of 2.2 and not of 10.
void share_delays(RunScale& base, RunScale& fresh);

// A figure of which this part waited for a point in time, which other programs do not delay.
void exempt_timers(RunScale& scale, double timer_part);

// Waiting for a point in time; the other causes depend on peers or devices.
bool is_of_timer(Cause cause);
// Any access to files on disks, and memory written to or read from them.
bool is_of_device(Cause cause);

// For each place: the part of its total that was waiting for a device; the last entry is for the whole.
std::vector<double> device_parts(const UnionTree& tree);

// The same for waiting for a point in time.
std::vector<double> timer_parts(const UnionTree& tree);

// For each place: the kernel's part of its total, 0 to 1; the last entry is for the whole.
std::vector<double> kernel_parts(const UnionTree& tree);

}  // namespace fathom::analysis
