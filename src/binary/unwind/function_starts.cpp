#include "binary/unwind/function_starts.h"

#include <elf.h>

#include <algorithm>

#include "base/arch/common/code_references.h"
#include "base/arch/relocations.h"
#include "base/cursor.h"

namespace fathom::unwind {
namespace {

void sort_and_keep(std::vector<std::uint64_t>& addresses, const std::vector<CodeRange>& ranges) {
  std::erase_if(addresses, [&](std::uint64_t each) { return size_within(ranges, each, 1) == 0; });
  std::sort(addresses.begin(), addresses.end());
  addresses.erase(std::unique(addresses.begin(), addresses.end()), addresses.end());
}

// What the loader adds the load bias to: in a program of any place, each address that a word holds.
void add_relative_relocations(const elf::ElfFile& file, std::vector<std::uint64_t>& out) {
  const elf::Segment* segment = file.segment(PT_DYNAMIC);
  if (segment == nullptr) return;
  const auto dynamic = file.bytes_at(segment->address, segment->file_size);
  if (!dynamic) return;
  std::uint64_t rela = 0, rela_size = 0, relr = 0, relr_size = 0;
  Cursor in(*dynamic);
  while (in.remaining() >= sizeof(Elf64_Dyn)) {
    const auto tag = in.read<std::uint64_t>();
    const auto value = in.read<std::uint64_t>();
    if (tag == DT_NULL) break;
    if (tag == DT_RELA) rela = value;
    if (tag == DT_RELASZ) rela_size = value;
    if (tag == DT_RELR) relr = value;
    if (tag == DT_RELRSZ) relr_size = value;
  }
  if (const auto bytes = file.bytes_at({rela}, rela_size)) {
    Cursor entries(*bytes);
    while (entries.remaining() >= sizeof(Elf64_Rela)) {
      entries.skip(8);
      const auto info = entries.read<std::uint64_t>();
      const auto addend = entries.read<std::uint64_t>();
      const auto kind = arch::relocation_kind(static_cast<std::uint32_t>(info));
      if (kind == arch::RelocationKind::kRelative || kind == arch::RelocationKind::kResolver)
        out.push_back(addend);
    }
  }
  const auto packed = file.bytes_at({relr}, relr_size);
  if (!packed) return;
  const auto word_at = [&](std::uint64_t address) {
    if (const auto bytes = file.bytes_at({address}, 8)) out.push_back(Cursor(*bytes).read<std::uint64_t>());
  };
  std::uint64_t where = 0;
  Cursor entries(*packed);
  while (entries.remaining() >= 8) {
    const auto entry = entries.read<std::uint64_t>();
    if ((entry & 1) == 0) {
      word_at(entry);
      where = entry + 8;
      continue;
    }
    for (unsigned bit = 1; bit < 64; ++bit)
      if ((entry >> bit & 1) != 0) word_at(where + (bit - 1) * 8);
    where += 63 * 8;
  }
}

}  // namespace

FunctionStarts find_function_starts(const elf::ElfFile& file, const std::vector<CodeRange>& ranges) {
  FunctionStarts found;
  arch::CodeReferences references;
  for (const CodeRange& range : code_sections(file, ranges)) {
    auto bytes = file.bytes_from({range.start});
    bytes = bytes.first(std::min<std::size_t>(bytes.size(), range.end - range.start));
    arch::add_references(bytes, range.start, references);
  }
  found.sure = std::move(references.calls);
  found.sure.insert(found.sure.end(), references.addresses.begin(), references.addresses.end());
  add_relative_relocations(file, found.sure);
  for (const auto table : {elf::SymbolTable::kSymtab, elf::SymbolTable::kDynsym})
    for (const elf::Symbol& symbol : file.symbols(table))
      if ((symbol.type == STT_FUNC || symbol.type == STT_GNU_IFUNC) && symbol.section != SHN_UNDEF)
        found.sure.push_back(symbol.address.value);
  sort_and_keep(found.sure, ranges);

  if (file.type() == ET_EXEC) {
    found.possible = std::move(references.constants);
    for (const elf::Segment& segment : file.segments()) {
      if (segment.type != PT_LOAD || (segment.flags & PF_X) != 0) continue;
      Cursor words(file.bytes_from(segment.address));
      words.skip((8 - segment.address.value % 8) % 8);
      while (words.remaining() >= 8)
        if (const auto word = words.read<std::uint64_t>(); word >> 32 == 0) found.possible.push_back(word);
    }
    sort_and_keep(found.possible, ranges);
  }
  return found;
}

}  // namespace fathom::unwind
