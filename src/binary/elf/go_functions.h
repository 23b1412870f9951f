// The table of functions that every Go program carries, stripped or not, as its collector and its tracebacks need it:
// .gopclntab. It has for each function its code, name, file, lines, frame sizes and what was inlined into it. Found by
// its section, or without section headers by its first bytes. Source: Go's internal/abi/symtab.go, runtime/symtab.go
// and cmd/link/internal/ld/pcln.go, versions 1.16 to 1.26; other versions are refused.
//
// Bytes are untrusted: what does not add up is left out, and every walk through the table is bounded.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/address.h"
#include "binary/elf/elf_file.h"

namespace fathom::elf {

enum class GoVersion : std::uint8_t { k116, k118, k120 };  // the first that wrote tables in this way

struct GoFunction {
  ElfAddress start;
  std::uint32_t size = 0;     // bytes, with the padding behind it
  std::uint32_t name = 0;     // where names() begin for it
  std::uint32_t unit = 0;     // of its files
  std::uint32_t frames = 0;   // of value_at(): how far the stack pointer is from the frame's start
  std::uint32_t files = 0;    // of value_at(): number of the file within the unit
  std::uint32_t lines = 0;    // of value_at()
  std::uint32_t inlines = 0;  // of value_at(): index into the inlined calls; 0: nothing inlined
  std::uint64_t calls = 0;    // ELF address of those calls; 0: not known
  std::uint8_t flags = 0;     // kGoFirstFrame ...; 0 before 1.18
};

constexpr std::uint8_t kGoFirstFrame = 1;        // it has no caller
constexpr std::uint8_t kGoSetsStackPointer = 2;  // to what the table does not know: another stack

struct GoPlace {
  std::string_view function, file;  // file may be "" (unknown)
  std::uint32_t line = 0;           // 0: unknown
};

class GoFunctions {
 public:
  // nullopt: no Go program, or one of a version whose table is written otherwise. `file` outlives the object.
  static std::optional<GoFunctions> find(const ElfFile& file);

  GoVersion version() const { return version_; }
  std::uint64_t count() const { return count_; }
  // In ascending order of their addresses, as the table has them. nullopt: nonsense.
  std::optional<GoFunction> function(std::uint64_t index) const;
  std::optional<GoFunction> function_around(ElfAddress address) const;
  std::string_view name(const GoFunction& function) const { return name_at(function.name); }

  // Pairs of differences, of the value (zigzag) and of the address; 0 as a value that is not the first ends them.
  std::span<const std::byte> values(std::uint32_t at) const;
  // The value of the row that holds for `offset`, from the function's start; nullopt: none.
  std::optional<std::int32_t> value_at(std::uint32_t table, std::uint32_t offset) const;

  // The chain of inlined calls at an address, innermost first; the last one is the function itself. Empty: unknown.
  // Without `inlines` only the function, with its own line where nothing was inlined there.
  std::vector<GoPlace> places(ElfAddress address, bool inlines) const;

 private:
  explicit GoFunctions(const ElfFile& file) : file_(&file) {}
  bool read(ElfAddress address, std::span<const std::byte> bytes);
  void find_bases(std::uint64_t text_in_header);
  std::optional<std::uint64_t> find_module() const;
  std::uint64_t calls_base(std::span<const std::uint64_t> words) const;
  bool calls_fit(std::uint64_t base) const;
  std::optional<std::uint64_t> entry_of(std::uint64_t index) const;
  std::string_view name_at(std::uint32_t offset) const;
  std::string_view file_at(const GoFunction& function, std::uint32_t offset) const;
  struct Call {
    std::uint32_t name, parent;  // parent: offset of an instruction whose line is that of the call
  };
  std::optional<Call> call(const GoFunction& function, std::int32_t index) const;

  const ElfFile* file_;
  ElfAddress address_;
  GoVersion version_ = GoVersion::k120;
  std::uint64_t count_ = 0, text_ = 0, names_offset_ = 0;
  std::uint64_t calls_base_ = 0;  // what offsets of tables that belong to functions are from; 0: not known
  std::span<const std::byte> names_, units_, files_, values_, functions_;
};

}  // namespace fathom::elf
