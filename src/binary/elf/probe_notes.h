// Static probes (USDT) of a file: places at which its authors let observers read named values. Source: the
// notes that SystemTap's <sys/sdt.h> makes the assembler write (owner "stapsdt", type 3); readelf -n shows
// the same. They are not loaded into memory, so a file without section headers has none.
#pragma once

#include <string>
#include <vector>

#include "base/address.h"
#include "base/result.h"
#include "binary/elf/elf_file.h"

namespace fathom::elf {

struct ProbeNote {
  std::string provider, name;
  std::string arguments;  // as the compiler wrote them: "SIZE@OPERAND", with a blank between two
  ElfAddress location;    // of the instruction, where the file is linked now
  ElfAddress semaphore;   // 16 bits that count who watches; 0: the probe has none
  bool operator==(const ProbeNote&) const = default;
};

// In the order of the file; empty where it has none. kMalformed, with the place, where the section is cut short or makes no
// sense: then none of it is believed. Notes of other owners are passed over.
Result<std::vector<ProbeNote>> read_probe_notes(const ElfFile& file);

}  // namespace fathom::elf
