// Finds out what one process would give to a profiler: access, names of its functions. Reads only; the
// process is neither stopped nor changed.
#pragma once

#include "base/result.h"
#include "binary/symbolize/options.h"
#include "tools/doctor/facts.h"

namespace fathom::doctor {

// kNotFound: there is no such process. Anything else that fails is part of the facts. `may_try`: functions of an allocator
// without names may be tried in a private copy of the program (inject/trial). They are seen at work as well (inject/live), which costs the
// process some milliseconds.
Result<TargetFacts> probe_target(int pid, const symbolize::Options& options, bool may_try);

}  // namespace fathom::doctor
