// What a user can do if the kernel does not let us read or stop a process. Source: ptrace(2), "Ptrace access mode checking".
#pragma once

#include <string>

namespace fathom::process {

struct TracingRights {
  bool root = false;
  bool may_trace_all = false;  // CAP_SYS_PTRACE
};

// The second line of an error. Root need not become root: with CAP_SYS_PTRACE only a sandbox or a security module is
// left, without it a container.
std::string remedy_for_tracing(const TracingRights& rights);
// The same with the rights of this thread.
std::string remedy_for_tracing();

}  // namespace fathom::process
