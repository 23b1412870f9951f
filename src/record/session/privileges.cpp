#include "record/session/privileges.h"

#include <linux/capability.h>
#include <sys/prctl.h>

namespace fathom::session {
namespace {

constexpr int kNeeded[] = {
    CAP_BPF,                 // entries of maps: processes that come, tables of new modules
    CAP_PERFMON,             // counters and links of what comes later
    CAP_SYS_PTRACE,          // /proc/PID of others: maps, root, memory; the heap's hooks
    CAP_CHECKPOINT_RESTORE,  // /proc/PID/map_files: the file that is mapped, and not one of its name
    CAP_DAC_READ_SEARCH,     // files of the target in folders that are not root's
    CAP_DAC_OVERRIDE,        // the recording in a folder of the user who asked for it
    CAP_CHOWN,               // that file is his
    CAP_FOWNER,              // and its mode
    CAP_KILL,                // ends the command that it launched, and the reader of names
    CAP_SETUID,              // the reader of names becomes the user nobody
    CAP_SETGID,
    CAP_SYS_NICE,      // real-time priority for what must not come late, none for names
    CAP_SYS_RESOURCE,  // descriptors of new threads and modules
    CAP_IPC_LOCK,      // rings of processes that are traced later
    CAP_SYSLOG,        // addresses in /proc/kallsyms
};

}  // namespace

CapabilitySet needed_capabilities(PrivilegedParts parts) {
  CapabilitySet needed = 0;
  for (const int number : kNeeded) needed |= capability(number);
  // The heap tracer suspends seccomp filters of its target for one call; kernel stacks of waits without BPF
  // are in /proc/PID/task/TID/stack; breakpoints are set when the target is there. Nothing else needs them.
  if (parts.heap || parts.without_bpf || parts.probes) needed |= capability(CAP_SYS_ADMIN);
  // Before Linux 5.8, one capability stood for all of that.
  if (::prctl(PR_CAPBSET_READ, CAP_BPF, 0, 0, 0) < 0) needed |= capability(CAP_SYS_ADMIN);
  return needed;
}

KeptCapabilities choose_capabilities(PrivilegedParts parts, CapabilitySet own,
                                     const std::function<Result<>(CapabilitySet)>& attempt) {
  const CapabilitySet needed = needed_capabilities(parts) & own;
  KeptCapabilities choice{needed, attempt(needed)};
  for (const CapabilitySet more : {(needed | capability(CAP_SYS_ADMIN)) & own, own}) {
    if (choice.tried) break;
    if (more != choice.kept) choice = {more, attempt(more)};
  }
  return choice;
}

void give_up_privileges(CapabilitySet kept) {
  if (own_capabilities() == 0) return;
  (void)keep_capabilities(kept);
  (void)::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

}  // namespace fathom::session
