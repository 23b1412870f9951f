#include "record/bpf/older_programs.h"

#include <bpf/libbpf.h>
#include <linux/bpf.h>

#include <string>

#include "base/abi/cpu_events.h"
#include "bpf_skeleton/fathom_bpf.skel.h"
#include "bpf_skeleton/fathom_bpf_before_5_15.skel.h"
#include "record/bpf_programs/packed_programs.h"

namespace fathom::sources {

// What user space sets and reads in their variables is where it is in those of the others.
using Newer = fathom_bpf;
using Older = fathom_bpf_before_5_15;
static_assert(sizeof(Newer::fathom_bpf__rodata) == sizeof(Older::fathom_bpf_before_5_15__rodata));
static_assert(sizeof(Newer::fathom_bpf__bss) == sizeof(Older::fathom_bpf_before_5_15__bss));
static_assert(sizeof(Newer::maps) == sizeof(Older::maps) && sizeof(Newer::progs) == sizeof(Older::progs));

std::span<const std::byte> newest_programs() {
  static const std::string bytes = packed::text_of(bpf::kPrograms);
  return std::as_bytes(std::span(bytes));
}

std::span<const std::byte> older_programs() {
  static const std::string bytes = packed::text_of(bpf::kProgramsBeforeLinux515);
  return std::as_bytes(std::span(bytes));
}

bool kernel_needs_older_programs() {
  return libbpf_probe_bpf_helper(BPF_PROG_TYPE_PERF_EVENT, BPF_FUNC_task_pt_regs, nullptr) == 0;
}

}  // namespace fathom::sources
