#include "binary/elf/module_file.h"

namespace fathom::elf {

Result<ModuleFile> ModuleFile::of_mapping(Mapping mapping, const std::string& name) {
  auto elf = ElfFile::parse(mapping.bytes(), name);
  if (!elf) return tl::unexpected(elf.error());
  return ModuleFile(std::move(mapping), std::move(*elf));
}

Result<ModuleFile> ModuleFile::open(const std::string& path) {
  auto mapping = Mapping::of_file(path);
  if (!mapping) return tl::unexpected(mapping.error());
  return of_mapping(std::move(*mapping), path);
}

Result<ModuleFile> ModuleFile::of_fd(int fd, const std::string& name) {
  auto mapping = Mapping::of_fd(fd, name);
  if (!mapping) return tl::unexpected(mapping.error());
  return of_mapping(std::move(*mapping), name);
}

Result<ModuleFile> ModuleFile::of_memory(std::span<const std::byte> bytes, const std::string& name) {
  auto elf = ElfFile::parse(bytes, name);
  if (!elf) return tl::unexpected(elf.error());
  return ModuleFile(Mapping(), std::move(*elf));
}

}  // namespace fathom::elf
