// Finding the file that has the names of a module: its separate debug file, or an unstripped twin. Source:
// GDB manual, "Debugging Information in Separate Files". Looks at files only; no network.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "binary/elf/elf_file.h"
#include "binary/elf/module_file.h"
#include "binary/symbolize/options.h"

namespace fathom::symbolize {

// Where debuginfod's client keeps what it has fetched, as it finds that itself: by DEBUGINFOD_CACHE_PATH, XDG_CACHE_HOME, HOME.
std::vector<std::string> debuginfod_caches();

struct DebugFile {
  std::string path;
  Fd fd;
  elf::ModuleFile file;
};

// One for all modules of a recording: it remembers what is in the symbol directory. One thread at a time.
class DebugFiles {
 public:
  explicit DebugFiles(const Options& options) : options_(options) {}

  // Searches in this order: the symbol directory by build id; .build-id/ of the debug directories, under the
  // target's root and then our own; the debug link, next to the module, in .debug/ there, and in the debug
  // directories; the cache of debuginfod's client; the symbol directory by equal code. A file counts only if
  // it is proved to belong to the module: by the same build id, by the checksum of the debug link, or by the
  // same bytes of code at the same addresses.
  std::optional<DebugFile> find(const elf::ElfFile& module, const ModuleSource& source);

 private:
  struct Twin {
    std::string path, build_id;
    std::uint64_t code_address = 0, code_size = 0;
    std::optional<std::uint64_t> code_hash;  // when first asked for
  };
  void scan_symbol_directory();
  std::optional<DebugFile> by_build_id(const std::string& build_id, const ModuleSource& source) const;
  std::optional<DebugFile> in_debuginfod_caches(const std::string& build_id) const;
  std::optional<DebugFile> by_debug_link(const elf::ElfFile& module, const std::string& build_id,
                                         const ModuleSource& source) const;
  std::optional<DebugFile> twin_by_build_id(const std::string& build_id, const std::string& module_path);
  std::optional<DebugFile> twin_by_code(const elf::ElfFile& module, const std::string& module_path);

  Options options_;
  bool scanned_ = false;
  std::vector<Twin> twins_;  // sorted by path
};

}  // namespace fathom::symbolize
