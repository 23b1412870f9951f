// What a recording may still do once its programs are loaded and its target is there: only the rights that it
// still uses. docs/security.md says what each is used for; the two lists are the same.
//
// Which capability a kernel demands for one and the same call depends on its version, its settings and its
// patches: Debian's and Ubuntu's kernels demand CAP_SYS_ADMIN for perf_event_open where
// kernel.perf_event_paranoid is above 2, and in a container CAP_SYS_ADMIN stands for CAP_BPF and CAP_PERFMON.
// So the choice is made by trying.
#pragma once

#include <functional>

#include "base/capabilities.h"
#include "base/result.h"

namespace fathom::session {

struct PrivilegedParts {
  bool heap = false;         // the heap is traced
  bool without_bpf = false;  // engine perf or proc
  bool probes = false;       // functions of the target are probed; the heap's probes are of the heap
};
// What the parts need on every kernel.
CapabilitySet needed_capabilities(PrivilegedParts parts);

struct KeptCapabilities {
  CapabilitySet kept = 0;
  Result<> tried;  // with `kept`; an error: with all of `own`
};
// The smallest set with which `attempt` succeeds: needed_capabilities(), those and CAP_SYS_ADMIN, or all of `own`.
// `attempt` does what the recording will do, with exactly the capabilities that it is given.
KeptCapabilities choose_capabilities(PrivilegedParts parts, CapabilitySet own,
                                     const std::function<Result<>(CapabilitySet)>& attempt);

// The calling thread, and those that it starts from now on, keep `kept` and gain none by executing a file. No
// effect for a user without capabilities. A command that was forked before keeps the rights of fathom's
// parent.
void give_up_privileges(CapabilitySet kept);

}  // namespace fathom::session
