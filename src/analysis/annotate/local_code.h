// The machine code of a module on this machine: believed only where the file is the one that was recorded.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "binary/elf/module_file.h"
#include "model/profile.h"

namespace fathom::annotate {

struct FunctionBounds {
  ElfAddress start;
  std::uint64_t size = 0;  // bytes
};

class LocalCode {
 public:
  // Of the module's own path, else of `twin` (its unstripped twin; "": there is none). Never fails: problem() says why there is
  // no code.
  static LocalCode open(const model::Profile& profile, const model::Module& module, const std::string& twin);
  // A sentence without its full stop; "" where the code is there.
  const std::string& problem() const { return problem_; }
  bool present() const { return file_.has_value(); }
  const elf::ElfFile& elf() const { return file_->elf(); }  // where the code is there
  const std::string& path() const { return path_; }         // of the file that the code is from
  int fd() const { return fd_.get(); }
  // Around an address: of its symbol, else of its call frame information.
  std::optional<FunctionBounds> bounds_around(ElfAddress address);
  // The bytes of the code; fewer where the file ends.
  std::span<const std::byte> code(const FunctionBounds& bounds) const;

 private:
  void read_bounds();
  std::string problem_, path_;
  Fd fd_;
  std::optional<elf::ModuleFile> file_;
  bool read_ = false;
  std::vector<std::pair<ElfAddress, std::uint64_t>> symbols_, frames_;  // sorted by start
};

}  // namespace fathom::annotate
