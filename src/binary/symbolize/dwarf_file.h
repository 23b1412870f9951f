// One file with DWARF, open with libdw, and its sections as bytes for our own readers. What is stored compressed is unpacked
// once, into an image in memory that both read: libdw of elfutils 0.188 knows no zstd, and would keep a second copy of the
// rest. Private to this folder.
#pragma once

#include <elfutils/libdw.h>
#include <libelf.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"
#include "binary/elf/elf_file.h"
#include "binary/elf/module_file.h"
#include "binary/symbolize/debug_image.h"
#include "binary/symbolize/pointed_paths.h"

namespace fathom::symbolize {

class DwarfFile {
 public:
  // `file` is what is behind `fd`, and outlives this object; `fd` is not kept. Fails when libdw refuses the file. A file
  // that dwz shares with others (.gnu_debugaltlink) is opened too, and believed only with the build id that the link names.
  static Result<std::unique_ptr<DwarfFile>> open(int fd, const elf::ElfFile& file, const PointedPaths& paths);
  static Result<std::unique_ptr<DwarfFile>> of_image(DebugImage image, const std::string& name);
  ~DwarfFile();
  DwarfFile(const DwarfFile&) = delete;
  DwarfFile& operator=(const DwarfFile&) = delete;

  Dwarf* dwarf() const { return dwarf_; }
  std::span<const std::byte> section(std::string_view name) const;  // plain; empty: there is none
  std::size_t memory_bytes() const;
  // One line: what it points to and is not there; "" if all is.
  const std::string& problem() const { return problem_; }

 private:
  DwarfFile() = default;
  static Result<std::unique_ptr<DwarfFile>> open_alone(int fd, const elf::ElfFile& file);
  Result<> begin(Elf* elf, const std::string& name);
  void open_shared(const elf::ElfFile& file, const PointedPaths& paths);

  Elf* elf_ = nullptr;
  Dwarf* dwarf_ = nullptr;
  DebugImage image_;                    // empty: sections lie in file_
  const elf::ElfFile* file_ = nullptr;  // null: of an image alone
  std::string problem_;
  // Of dwz. The mapping outlives what reads it.
  std::optional<elf::ModuleFile> shared_file_;
  std::unique_ptr<DwarfFile> shared_;
};

// A file that debug information points to, mapped; nullopt where there is none that is a regular ELF file.
struct PointedFile {
  Fd fd;
  elf::ModuleFile file;
};
std::optional<PointedFile> open_pointed_file(const PointedPaths& paths, const std::string& path);
// "lib/x.so.debug" and "../dwz/common" -> below the folder of the module; an absolute path stays.
std::string beside(const std::string& module, const std::string& name);

}  // namespace fathom::symbolize
