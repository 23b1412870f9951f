// The functions of the kernel that a perf.data was recorded with, from this machine, if it runs the same one. The file has no names of
// the kernel: perf asks /proc/kallsyms when it reads, too, and so does this.
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

// None where the build ids differ or one is not known, and where this user may not see addresses. After a restart the kernel lies
// elsewhere: its functions are moved by as much as the symbol that the file names; those of its modules, which moved on their own,
// are left out then.
std::vector<formats::PerfKernelFunction> functions_of_kernel(const formats::PerfKernel& kernel,
                                                             const KernelPlaces& places = {});

// The GNU build id in ELF notes, in hexadecimal; empty: there is none. Source: gABI, "Note Section".
std::string build_id_of_notes(std::string_view notes);

}  // namespace fathom::open
