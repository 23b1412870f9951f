#include "linux/process/tracing_rights.h"

#include <linux/capability.h>
#include <unistd.h>

#include "base/capabilities.h"

namespace fathom::process {

std::string remedy_for_tracing(const TracingRights& rights) {
  if (rights.may_trace_all)
    return "outside of the sandbox or container that fathom runs in, or with a security module (AppArmor, SELinux, Yama, Landlock) that allows ptrace";
  if (rights.root) return "outside of the container, or start that with --cap-add SYS_PTRACE";
  return "as its user, or as root (CAP_SYS_PTRACE): ptrace access is needed; for your own processes, kernel.yama.ptrace_scope = 0 is enough";
}

std::string remedy_for_tracing() {
  return remedy_for_tracing(
      {.root = ::geteuid() == 0, .may_trace_all = (own_capabilities() & capability(CAP_SYS_PTRACE)) != 0});
}

}  // namespace fathom::process
