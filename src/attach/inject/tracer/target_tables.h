// The unwind tables of all code in a process, from its maps and files: for a detach without the recorder that
// had them. An unreadable file only costs its own rules.
#pragma once

#include <span>

#include "binary/unwind/address_space.h"
#include "linux/process/maps.h"

namespace fathom::inject {

// `maps` are those of `pid`. Opens files as the process sees them: even replaced ones, and in its container.
// A node binary of 44 MB takes about 20 ms.
unwind::AddressSpace read_unwind_tables(int pid, std::span<const process::MapEntry> maps);

}  // namespace fathom::inject
