// Which file, which code: from an executable mapping of a process to a module of the profile, with its unwind
// table where the walker can find it and its names on their way. Each file is opened and compiled once,
// however many processes map it.
//
// A file is opened through the mapping itself (/proc/PID/map_files) where allowed, so that a binary that was
// replaced or deleted since, or that lies in another mount namespace, is still the right one; else through
// the root of the target. It is kept open: what recording has seen once can be read until it ends.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/address.h"
#include "base/fd.h"
#include "binary/elf/module_file.h"
#include "binary/symbolize/worker.h"
#include "binary/unwind/table.h"
#include "linux/process/maps.h"
#include "model/profile.h"
#include "record/bpf/table_space.h"

namespace fathom::session {

// The name of the module that stands for the heap tracer's own code.
inline constexpr std::string_view kTracerModule = "[fathom]";

// A file, the vdso, or the code that one process made at run time.
struct CodeModule {
  model::ModuleId id;
  model::ModuleKind kind = model::ModuleKind::kUnknown;
  std::optional<elf::ModuleFile>
      file;  // none for code made at run time, and for files that could not be opened
  Fd fd;     // keeps /proc/self/fd/N valid for the symbolizer
  std::shared_ptr<const unwind::Table> table;  // kept only for walks in user space
  std::optional<sources::TableSlot> slot;      // where the kernel's walker finds it
  bool is_collective = false;  // stands for the code of many processes: its addresses have no meaning

  // Process address minus ELF address for a mapping of this module; nullopt if the file has no such segment.
  std::optional<std::uint64_t> bias(const process::MapEntry& mapping) const;
};

// How to look up the names of a module with a file, of process `pid`.
symbolize::ModuleSource source_of(const CodeModule& module, std::int32_t pid);

class ModuleCatalog {
 public:
  // Puts a table where the engine's walker finds it. nullopt: no room.
  using PlaceTable = std::function<std::optional<sources::TableSlot>(const unwind::Table&)>;
  // All three outlive the catalog. Tables are kept in the modules without `place`, and with `keep_tables`:
  // then stacks can be walked both in the kernel and here.
  ModuleCatalog(model::Builder& builder, symbolize::Worker& symbols, PlaceTable place,
                bool keep_tables = false);

  // The module behind an executable mapping of process `pid`. Never fails: a file that cannot be opened is a
  // module with a name and without a table.
  CodeModule& of_mapping(std::int32_t pid, const process::MapEntry& mapping);
  CodeModule& kernel();
  // Code that we have put into a process ourselves: kind kNames, one frame for all of it.
  CodeModule& tracer();

  // Compiles the tables of a program, its loader and the libraries that it names, before it starts.
  void prepare(const std::string& path);

  // The process has ended: code that a later one of this number makes is another one's.
  void forget(std::int32_t pid);

  std::uint64_t modules_without_room() const { return without_room_; }
  std::vector<std::string> take_notes();  // what could not be read, and why: once per module

 private:
  // Device, inode and path: one inode may be two versions of a file (replaced in place), the path alone says
  // too little.
  using FileKey = std::tuple<std::uint32_t, std::uint32_t, std::uint64_t, std::string>;
  CodeModule& of_file(std::int32_t pid, const process::MapEntry& mapping);
  CodeModule& of_vdso(const process::MapEntry& mapping);
  CodeModule& of_made_code(std::int32_t pid, const process::MapEntry& mapping);
  void set_table(CodeModule& module, unwind::Table table);
  // `typed`: the name of the file for the reader; else `path`, as /proc has it.
  void load(CodeModule& module, Fd fd, const std::string& path, const std::string& typed,
            const std::string& root, std::int32_t pid);
  void prepare_file(const std::string& path, int depth);

  model::Builder& builder_;
  symbolize::Worker& symbols_;
  PlaceTable place_;
  bool keep_tables_;
  std::map<FileKey, std::unique_ptr<CodeModule>> files_;
  std::map<std::int32_t, CodeModule*> made_code_;  // by pid, of those that live
  std::vector<std::unique_ptr<CodeModule>> all_made_code_;
  std::unique_ptr<CodeModule> vdso_, kernel_, tracer_;
  std::uint64_t without_room_ = 0;
  std::vector<std::string> notes_;
};

}  // namespace fathom::session
