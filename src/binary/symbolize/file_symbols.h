// Names of an ELF file, or of the vdso. Private to this folder: ModuleSymbols::open() makes it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/fd.h"
#include "binary/elf/go_functions.h"
#include "binary/elf/module_file.h"
#include "binary/symbolize/debug_info.h"
#include "binary/symbolize/module_symbols.h"
#include "binary/symbolize/plt.h"
#include "binary/symbolize/symbol_table.h"

namespace fathom::symbolize {

class FileSymbols final : public ModuleSymbols {
 public:
  static std::unique_ptr<ModuleSymbols> open_file(const ModuleSource& source, const Options& options,
                                                  DebugFiles& debug_files);
  // The same for files that the caller has opened; `debug_file` is -1 if there is none.
  static std::unique_ptr<ModuleSymbols> of_files(const std::string& path, Fd file,
                                                 const std::string& debug_path, Fd debug_file, bool inlines,
                                                 PointedPaths pointed);
  // The vdso is the same in all processes, so it is read from our own.
  static std::unique_ptr<ModuleSymbols> open_vdso(const ModuleSource& source, const Options& options);

  model::SymbolSource source() const override;
  std::string source_path() const override { return debug_path_; }
  std::string problem() const override { return problem_; }
  std::string stamp() const override;
  std::string main_crate() const override { return main_crate_; }
  std::string compilers() const override { return compilers_; }
  void check() override;
  std::vector<std::vector<Name>> resolve(std::span<const ElfAddress> addresses) override;
  std::vector<std::vector<SourcePlace>> resolve_places(std::span<const ElfAddress> addresses) override;
  std::size_t releasable_bytes() const override;
  void release_memory() override { debug_info_.reset(); }

 private:
  FileSymbols(std::string path, bool inlines) : path_(std::move(path)), inlines_(inlines) {}
  void open(Fd file, const std::string& debug_path, Fd debug_file);
  void load(const elf::ElfFile& elf);
  void load_mini(const elf::ElfFile& elf);
  const elf::ElfFile* elf() const;
  DebugInfo* debug_info();
  bool add_go_names(ElfAddress address, std::vector<Name>& names) const;
  std::vector<std::vector<Name>> resolve_ascending(std::span<const ElfAddress> addresses);
  // The name from the symbol tables, else from the bounds of functions; "" if there is none. With
  // `must_start_at`, only a symbol of the function that starts there.
  std::string symbol_name(ElfAddress address, const ElfAddress* must_start_at);
  const std::string& pseudo_name(std::pair<ElfAddress, std::uint64_t> bounds);
  std::optional<std::pair<ElfAddress, std::uint64_t>> bounds_around(ElfAddress address);
  const std::string& demangled(std::string_view mangled);
  bool is_one_of_several(std::string_view name);

  std::string path_, problem_, main_crate_, compilers_;
  bool inlines_;
  std::optional<elf::ModuleFile> file_;
  std::vector<std::byte> image_;  // of the vdso
  std::optional<elf::ElfFile> image_elf_;
  std::optional<elf::ModuleFile> debug_file_;
  PointedPaths pointed_;
  std::string debug_path_, debug_stamp_;  // "" without debug_file_
  std::vector<std::byte> mini_bytes_;     // .gnu_debugdata, unpacked
  std::optional<elf::ElfFile> mini_;
  Fd debug_fd_;  // of the file with DWARF, -1 if there is none
  const elf::ElfFile* debug_elf_ = nullptr;
  std::unique_ptr<DebugInfo> debug_info_;
  SymbolTable symbols_;
  bool has_symtab_ = false;
  std::optional<elf::GoFunctions> go_;
  std::vector<PltEntry> plt_;
  bool bounds_read_ = false;
  std::vector<std::pair<ElfAddress, std::uint64_t>> bounds_;
  // Static functions of one name that a compiler numbered, so that there are several in the file.
  std::optional<std::unordered_set<std::string_view>> several_;
  std::string_view last_mangled_;  // neighbours mostly lie in one function
  std::string last_demangled_;
  std::optional<ElfAddress> last_nameless_;  // of which the name is:
  std::string last_pseudo_name_;
};

}  // namespace fathom::symbolize
