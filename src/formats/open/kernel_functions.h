// The kernel functions for a perf.data file, from this machine, if it runs the same kernel. The file has no
// kernel names: perf also reads /proc/kallsyms when it reports.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "formats/perf_data/perf_data.h"

namespace fathom::open {

struct KernelPlaces {
  std::string kallsyms = "/proc/kallsyms";
  std::string notes = "/sys/kernel/notes";
};

// Empty if the build ids differ or one is unknown, or if this user may not see addresses. After a reboot the
// kernel is at another address: its functions are moved by the offset of the symbol that the file names.
// Functions of kernel modules moved separately, so they are left out then.
std::vector<formats::PerfKernelFunction> functions_of_kernel(const formats::PerfKernel& kernel,
                                                             const KernelPlaces& places = {});

// The GNU build id in ELF notes, in hexadecimal; empty if there is none. Source: gABI, "Note Section".
std::string build_id_of_notes(std::string_view notes);

}  // namespace fathom::open
