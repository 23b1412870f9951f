// An ELF file on disk: the mapping and the view into it, together, so that neither can outlive the other.
#pragma once

#include <string>

#include "base/mapping.h"
#include "base/result.h"
#include "binary/elf/elf_file.h"

namespace fathom::elf {

class ModuleFile {
 public:
  // Maps the whole file; pages are read on first access.
  static Result<ModuleFile> open(const std::string& path);
  // The same of an open descriptor, which is not kept; `name` is for messages.
  static Result<ModuleFile> of_fd(int fd, const std::string& name);

  // An image that is in memory already, such as the vdso; `bytes` outlives the object.
  static Result<ModuleFile> of_memory(std::span<const std::byte> bytes, const std::string& name);

  const ElfFile& elf() const { return elf_; }  // valid as long as this object, also after moving it

 private:
  ModuleFile(Mapping mapping, ElfFile elf) : mapping_(std::move(mapping)), elf_(std::move(elf)) {}
  static Result<ModuleFile> of_mapping(Mapping mapping, const std::string& name);

  Mapping mapping_;
  ElfFile elf_;
};

}  // namespace fathom::elf
