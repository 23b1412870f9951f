// The event programs as bytes. Those for kernels before Linux 5.15 (record/bpf_programs/current_task.h says what those lack) have the same maps,
// programs and variables as the others, so everything but their bytes is that of the skeleton of the others.
#pragma once

#include <cstddef>
#include <span>

namespace fathom::sources {

// Of an ELF file, unpacked at the first call; they live as long as the process.
std::span<const std::byte> newest_programs();
std::span<const std::byte> older_programs();

// Whether this kernel needs them: it does not know bpf_task_pt_regs, the youngest helper that sampling and waits use. False as well
// when this user may not ask.
bool kernel_needs_older_programs();

}  // namespace fathom::sources
