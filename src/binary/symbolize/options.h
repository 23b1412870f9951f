// What a module is for symbolisation, and where names may be looked for. Plain values.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/fd.h"
#include "binary/symbolize/fetch_options.h"
#include "model/profile.h"

namespace fathom::symbolize {

// One module of the target, as the recorder knows it.
struct ModuleSource {
  model::ModuleKind kind = model::ModuleKind::kFile;
  // As the target sees it.
  std::string path = {};
  // How we can open it: /proc/PID/map_files/..., /proc/PID/root/...; empty: `path`.
  std::string open_path = {};
  // Prefix under which the target's debug files are: "" or /proc/PID/root.
  std::string root = {};
  // Build id, or "x-" and a hash (elf::ElfFile::identity()): a file that has another one by now is not used.
  // Empty: not checked, and names are not kept in the cache.
  std::string identity = {};
  // Whose perf map names anonymous code.
  int pid = 0;
  // That map, opened while the process certainly ran: on a busy machine it may have ended before its names
  // are needed. Null: it did not exist yet, and is looked up then.
  std::shared_ptr<const Fd> perf_map = {};
};

// The process that reads the files of modules, apart from the one that records.
struct ReaderProcess {
  // A program whose main() hands kNameProcessArgument on to run_name_process(): for fathom itself
  // /proc/self/exe. Empty: files are read in this process.
  std::string program;
  std::uint64_t memory_bytes = std::uint64_t{2} << 30;  // of its own; mapped files do not count
  std::uint64_t cpu_limit_ns = 20'000'000'000;          // for one answer
  std::uint64_t silence_limit_ns = 10'000'000'000;      // without an answer and without using a CPU
};

struct Options {
  // A folder with unstripped twins and debug files, searched with all below it. Empty: none.
  std::string symbol_directory;
  // Folders laid out like /usr/lib/debug: .build-id/xx/yyy.debug, and the paths of the binaries.
  std::vector<std::string> debug_directories = {"/usr/lib/debug"};
  // Inlined calls and lines; without them, a name costs microseconds even in binaries with gigabytes of
  // DWARF.
  bool inlines = true;
  // Where names are kept between recordings. Empty: nowhere.
  std::string cache_directory;
  std::uint64_t cache_limit_bytes = 256 << 20;
  ReaderProcess reader = {};
  FetchOptions fetch = {};
  // Folders laid out like the cache of debuginfod's client: BUILD_ID/debuginfo. Looked at also where nothing is fetched.
  std::vector<std::string> debuginfod_caches = {};
  // What a thread that is started for names keeps of its rights, as of base/capabilities.h.
  std::uint64_t capabilities = ~std::uint64_t{0};
};

// One function of the chain at one address.
struct Name {
  std::string function;    // demangled
  std::string file;        // absolute if the debug information has it so; empty if unknown
  std::uint32_t line = 0;  // 0 if unknown
  auto operator<=>(const Name&) const = default;
};

}  // namespace fathom::symbolize
