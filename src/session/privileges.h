// What a recording that runs as root may still do once its programs are loaded and its target is there: the
// rights that it uses from then on, and no others. docs/security.md says what each is used for; the two lists
// are the same.
#pragma once

#include "base/capabilities.h"

namespace fathom::session {

struct PrivilegedParts {
  bool heap = false;         // the heap is traced
  bool without_bpf = false;  // engine perf
  bool probes = false;       // functions of the target are probed; the heap's probes are of the heap
};
CapabilitySet needed_capabilities(PrivilegedParts parts);

// The calling thread, and those that it starts from here on, keep needed_capabilities() and gain none by
// executing a file. Nothing happens to a user without capabilities. A command that was forked before keeps
// the rights of who started it.
void give_up_privileges(PrivilegedParts parts);

}  // namespace fathom::session
