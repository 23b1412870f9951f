// The unwind tables of everything that a process may be running, made from its maps and the files behind
// them: for a detach without the recorder that had them. A file that cannot be read costs its rules only.
#pragma once

#include <span>

#include "binary/unwind/address_space.h"
#include "linux/process/maps.h"

namespace fathom::inject {

// `maps` are those of `pid`. Files are opened as the process sees them: also replaced ones, and in its
// container. A node of 44 MB takes some 20 ms.
unwind::AddressSpace read_unwind_tables(int pid, std::span<const process::MapEntry> maps);

}  // namespace fathom::inject
