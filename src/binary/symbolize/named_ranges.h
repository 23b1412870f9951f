// Names that are already in order: the kernel's in kallsyms, a JIT compiler's in its perf map. Private to
// this folder: ModuleSymbols::open() makes them.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "binary/symbolize/module_symbols.h"
#include "linux/process/kallsyms.h"
#include "linux/process/perf_map.h"

namespace fathom::symbolize {

// Compact: a kernel has some 150,000 functions.
class KernelSymbols final : public ModuleSymbols {
 public:
  KernelSymbols();  // reads /proc/kallsyms
  explicit KernelSymbols(const std::vector<process::KernelSymbol>& symbols);

  model::SymbolSource source() const override;
  std::string problem() const override { return problem_; }
  std::vector<std::vector<Name>> resolve(std::span<const ElfAddress> addresses) override;

 private:
  void add(const process::KernelSymbolView& symbol);
  void finish();
  struct Entry {
    std::uint64_t address;
    std::uint32_t name, length;  // in text_
  };
  std::vector<Entry> entries_;  // sorted, one for each address
  std::string text_, problem_;
};

// Of one process. The map is read again when it has changed.
class PerfMapSymbols final : public ModuleSymbols {
 public:
  explicit PerfMapSymbols(int pid);
  // Of a map that the caller has opened, as it is now.
  static std::unique_ptr<ModuleSymbols> of_file(const std::string& path, const Fd& file);

  model::SymbolSource source() const override;
  std::string source_path() const override { return entries_.empty() ? std::string() : path_; }
  std::string problem() const override { return problem_; }
  std::vector<std::vector<Name>> resolve(std::span<const ElfAddress> addresses) override;

 private:
  PerfMapSymbols() = default;
  void read_if_changed();
  void take(Result<std::vector<process::PerfMapEntry>> entries);
  int pid_ = 0;  // 0: the map is not read again
  std::string path_, problem_;
  std::int64_t size_ = -1;
  timespec changed_{};
  std::vector<process::PerfMapEntry> entries_;  // sorted, without overlaps
};

}  // namespace fathom::symbolize
