// Pools all of whose threads are inside of a job that waits for a result. Such a pool can run no further job; if the results are
// those of its own queued jobs, it waits for itself.
//
// A pool is known by how its threads begin: the outermost functions of their stacks are the same. That a job waits for a result,
// and not the pool for a job, is known by the functions of futures and executors.
#pragma once

#include <cstddef>
#include <vector>

#include "analysis/stacks/look.h"
#include "model/profile.h"

namespace fathom::stacks {

// Rows of Look::threads, each pool ascending. Only pools of two threads and more.
std::vector<std::vector<std::size_t>> exhausted_pools(const model::Profile& profile, const Look& look);

}  // namespace fathom::stacks
