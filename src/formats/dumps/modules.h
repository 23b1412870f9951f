// Whose code the addresses of a dump are: modules by the dump's own mappings, and for each the file on this machine that
// fits to them. A dump has no build ids, so a file is believed by what it is mapped like and by its code: its segments have
// the places and sizes of the mappings, and what stands before the return addresses of the dump are calls. A file that was
// built anew fails in one of these, and is refused with the reason.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "binary/elf/module_file.h"
#include "linux/process/maps.h"
#include "model/profile.h"

namespace fathom::dumps {

// Files called like a module below a folder. Nothing where there is no folder.
class FilesByName {
 public:
  // kNotFound where it cannot be read; empty: none.
  static Result<FilesByName> scan(const std::string& folder);
  std::vector<std::string> called(std::string_view name) const;
  // A sentence where the folder holds more files than are looked at; else empty.
  const std::string& note() const { return note_; }

 private:
  std::multimap<std::string, std::string, std::less<>> paths_;
  std::string note_;
};

// Why the file cannot be what was mapped there; nothing if it can. `return_addresses` lie in `mappings`, which are all of
// one path.
std::optional<std::string> misfit(const elf::ElfFile& file, std::span<const process::MapEntry> mappings,
                                  std::span<const std::uint64_t> return_addresses);

// The modules of all dumps of one profile. Files are looked at once.
class Modules {
 public:
  Modules(model::Builder& builder, FilesByName files);  // the first outlives it

  // From here on addresses are of a process with these mappings; `addresses` are all return addresses of the dump. Text
  // that is no maps is taken as far as it can be read, and without it addresses have no module.
  void use(std::string_view maps, std::span<const std::uint64_t> addresses);
  // The frame of a return address.
  model::FrameId frame(std::uint64_t return_address);
  // Of the program: the first file that is mapped; empty: not known.
  const std::string& program() const { return program_; }
  // The module of an address, 0 where there is none.
  model::ModuleId module_of(std::uint64_t return_address);
  // Sentences: files that were refused, or not found.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  struct Located {
    model::ModuleId module;
    std::shared_ptr<const elf::ModuleFile> file;  // null: none that fits
  };
  struct Range {
    process::MapEntry map;
    Located module;
  };
  const Range* range_of(std::uint64_t address) const;
  Located locate(const std::vector<process::MapEntry>& mappings, std::span<const std::uint64_t> addresses);

  model::Builder& builder_;
  FilesByName files_;
  std::vector<Range> ranges_;  // executable ones, by address
  std::map<std::string, Located> located_;
  std::string maps_, program_;
  std::map<std::uint64_t, model::FrameId> known_;  // frames of the mappings in use
  std::vector<std::string> notes_;
};

}  // namespace fathom::dumps
