// The threads of a core file as a look: their stacks walked with the unwind rules of the files that were mapped, and what they
// waited for by the system call that they were in.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/stacks/look.h"
#include "base/mapping.h"
#include "base/result.h"
#include "binary/symbolize/worker.h"
#include "binary/unwind/address_space.h"
#include "binary/unwind/unwinder.h"
#include "model/profile.h"
#include "record/session/tracking/module_catalog.h"
#include "tools/stacks/core/core_file.h"

namespace fathom::stacks {

struct CoreOptions {
  symbolize::Options symbols;  // symbol_directory also for the files themselves
  std::string sysroot;         // where the files of the other machine are
};

class CoreThreads {
 public:
  // Opens a core file, packed with gzip, xz or zstd or not.
  static Result<std::unique_ptr<CoreThreads>> open(const std::string& path, CoreOptions options);
  // Whether the file is one, by its first bytes.
  static bool recognize(const std::string& path);

  Look look();
  const model::Profile& profile() const { return profile_; }
  const CoreFile& core() const { return *core_; }

 private:
  explicit CoreThreads(CoreOptions options);
  struct CodeRange {
    std::uint64_t start = 0, end = 0, bias = 0;
    session::CodeModule* module = nullptr;
  };
  void load_modules();
  session::CodeModule& load_file(const process::MapEntry& mapping, const std::string& build_id);
  Fd open_file(const std::string& path, const std::string& build_id);
  const CodeRange* find_code(std::uint64_t address) const;
  model::ModuleId made_code();
  bool read(std::uint64_t address, std::span<std::byte> bytes) const;
  model::StackId stack_of(const CoreThread& thread, model::WalkEnd& end);
  void add_thread(const CoreThread& thread, model::ProcessId process, Look& look);

  CoreOptions options_;
  Mapping mapping_;
  std::string unpacked_;
  std::optional<CoreFile> core_;
  model::Profile profile_;
  model::Builder builder_{profile_};
  symbolize::Worker symbols_;
  std::map<std::string, std::unique_ptr<session::CodeModule>> modules_;  // by path
  std::vector<CodeRange> code_;                                          // of files and the vdso, ascending
  model::ModuleId made_code_;                                            // of code made at run time
  unwind::AddressSpace space_;
  std::vector<std::string> notes_;
};

}  // namespace fathom::stacks
