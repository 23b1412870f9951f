// Resolves the addresses of a dump to code: modules from the dump's own mappings, and for each the matching
// file on this machine. A dump has no build ids, so fathom checks a file by its mappings and its code: its
// segments must have the places and sizes of the mappings, and calls must come before the return addresses of
// the dump. A rebuilt file fails one of these checks, and is rejected with the reason.
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

// Files named like a module, in and below a folder; or one file, which is the program whatever its name is.
class FilesByName {
 public:
  // `path`: a folder, a file, or empty for none. kNotFound if it cannot be read.
  static Result<FilesByName> scan(const std::string& path);
  std::vector<std::string> called(std::string_view name) const;
  // The one file; empty for a folder.
  const std::string& program() const { return program_; }
  // A sentence if the folder has more files than the limit of the search; otherwise empty.
  const std::string& note() const { return note_; }

 private:
  std::multimap<std::string, std::string, std::less<>> paths_;
  std::string program_;
  std::string note_;
};

// Why the file cannot be the mapped one; nullopt if it can. `return_addresses` lie in `mappings`, which all
// have the same path.
std::optional<std::string> misfit(const elf::ElfFile& file, std::span<const process::MapEntry> mappings,
                                  std::span<const std::uint64_t> return_addresses);

// The modules of all dumps of one profile. Reads each file once.
class Modules {
 public:
  Modules(model::Builder& builder, FilesByName files);  // `builder` outlives it

  // Addresses from now on belong to a process with these mappings; `addresses` are all return addresses of
  // the dump. Invalid maps are read as far as possible, and addresses outside of them have no module.
  void use(std::string_view maps, std::span<const std::uint64_t> addresses);
  // The frame of a return address.
  model::FrameId frame(std::uint64_t return_address);
  // The program's file: the first one mapped; empty: unknown.
  const std::string& program() const { return program_; }
  // The module of an address, 0 where there is none.
  model::ModuleId module_of(std::uint64_t return_address);
  // Sentences: files that were rejected or not found.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  struct Located {
    model::ModuleId module;
    std::shared_ptr<const elf::ModuleFile> file;  // null: no file matches
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
  std::map<std::uint64_t, model::FrameId> known_;  // frames under the current mappings
  std::vector<std::string> notes_;
};

}  // namespace fathom::dumps
