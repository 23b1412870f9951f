// `fathom record --dry-run`: what recording would cost, and with --heap what it would change in the process.
#pragma once

#include "base/result.h"
#include "cli/record_arguments.h"

namespace fathom::cli {

// Of a command that is not started nothing is known but what each busy CPU and each thousand switches will cost.
Result<int> run_dry(const RecordArguments& arguments);

}  // namespace fathom::cli
