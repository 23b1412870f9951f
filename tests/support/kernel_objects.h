// What a process holds in the kernel: BPF programs, links and maps by their ids, which say later whether they
// are still there.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <set>

namespace fathom::support {

struct KernelObjects {
  std::set<std::uint32_t> programs, links, maps;
  bool empty() const { return programs.empty() && links.empty() && maps.empty(); }
};

// From /proc/PID/fdinfo.
KernelObjects objects_of(pid_t pid);
// Those of `objects` that still exist, whichever process holds them. Needs root.
KernelObjects still_there(const KernelObjects& objects);

}  // namespace fathom::support
