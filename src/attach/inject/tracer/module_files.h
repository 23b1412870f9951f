// The expected content of a process's memory, from the files that it maps: text as stored, and data words as
// the loader fills them. The target cannot forge this evidence: a user who may write to a mapped program's
// file owns the program.
//
// Files are read with pread and never mapped, every offset and count in them is checked, and only their
// descriptors are kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>

#include "base/address.h"
#include "base/fd.h"
#include "linux/process/maps.h"

namespace fathom::inject {

class ModuleFiles {
 public:
  // `maps` outlives the object.
  ModuleFiles(int pid, std::span<const process::MapEntry> maps) : pid_(pid), maps_(maps) {}

  // The mapping that contains all of these addresses; null if there is none.
  const process::MapEntry* mapping_of(std::uint64_t address, std::uint64_t bytes = 1) const;
  // A module's mapping: private, of a file, executable or not. fathom never changes or restores any other.
  static bool is_text(const process::MapEntry& entry);
  static bool is_data(const process::MapEntry& entry);

  // How many bytes the file has for the mapping, starting at `offset` in it; nullopt: the file cannot be
  // opened.
  std::optional<std::size_t> read(const process::MapEntry& entry, std::uint64_t offset,
                                  std::span<std::byte> out);
  // The loader's value of this 8-byte word of a module's data: from a relocation against the module itself,
  // or from the file's own bytes if the program is linked to a fixed address. nullopt: the file does not
  // determine it.
  std::optional<std::uint64_t> word_at_start(std::uint64_t address);

 private:
  int file_of(const process::MapEntry& entry);  // -1: it cannot be opened

  int pid_;
  std::span<const process::MapEntry> maps_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>, Fd> files_;  // by device and inode
};

}  // namespace fathom::inject
