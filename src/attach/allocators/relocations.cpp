// Source: gABI chapter 5, gABI's "Relative relocation table" (DT_RELR).
#include "attach/allocators/relocations.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <unordered_map>

#include "base/arch/relocations.h"
#include "base/cursor.h"

namespace fathom::allocators {
namespace {

// Of binutils 2.38 and later; older headers do not have them.
constexpr std::int64_t kRelr = 36, kRelrSize = 35;

struct DynamicTables {
  std::unordered_map<std::int64_t, std::uint64_t> values;  // the first of each tag
  std::uint64_t at(std::int64_t tag) const {
    const auto found = values.find(tag);
    return found == values.end() ? 0 : found->second;
  }
};

DynamicTables read_dynamic(const elf::ElfFile& file) {
  DynamicTables tables;
  const elf::Segment* dynamic = file.segment(PT_DYNAMIC);
  if (dynamic == nullptr) return tables;
  const auto bytes = file.bytes_at(dynamic->address, dynamic->file_size);
  if (!bytes) return tables;
  Cursor in(*bytes);
  while (in.remaining() >= sizeof(Elf64_Dyn)) {
    const auto tag = in.read<std::int64_t>();
    const auto value = in.read<std::uint64_t>();
    if (tag == DT_NULL) break;
    tables.values.try_emplace(tag, value);
  }
  return tables;
}

class Words {
 public:
  Words(const elf::ElfFile& file, const std::vector<ElfAddress>& wanted)
      : file_(file), wanted_(wanted), tables_(read_dynamic(file)) {}

  std::vector<FilledWord> run() {
    if (wanted_.empty()) return {};
    read_rela(tables_.at(DT_RELA), tables_.at(DT_RELASZ));
    if (tables_.at(DT_PLTREL) == DT_RELA) read_rela(tables_.at(DT_JMPREL), tables_.at(DT_PLTRELSZ));
    read_relr(tables_.at(kRelr), tables_.at(kRelrSize));
    std::sort(found_.begin(), found_.end());
    found_.erase(std::unique(found_.begin(), found_.end()), found_.end());
    return std::move(found_);
  }

 private:
  void consider(std::uint64_t word, std::uint64_t holds) {
    if (holds >= wanted_.front().value && holds <= wanted_.back().value &&
        std::binary_search(wanted_.begin(), wanted_.end(), ElfAddress{holds}))
      found_.push_back({{word}, {holds}});
  }

  std::optional<std::uint64_t> defined_symbol(std::uint32_t index) const {
    const std::uint64_t table = tables_.at(DT_SYMTAB);
    if (table == 0) return std::nullopt;
    const auto bytes = file_.bytes_at({table + std::uint64_t{index} * sizeof(Elf64_Sym)}, sizeof(Elf64_Sym));
    if (!bytes) return std::nullopt;
    Elf64_Sym symbol;
    std::memcpy(&symbol, bytes->data(), sizeof symbol);
    if (symbol.st_shndx == SHN_UNDEF) return std::nullopt;
    return symbol.st_value;
  }

  void read_rela(std::uint64_t table, std::uint64_t size) {
    auto bytes = file_.bytes_from({table});
    if (table == 0) return;
    bytes = bytes.first(std::min<std::uint64_t>(bytes.size(), size));
    for (; bytes.size() >= sizeof(Elf64_Rela); bytes = bytes.subspan(sizeof(Elf64_Rela))) {
      Elf64_Rela entry;
      std::memcpy(&entry, bytes.data(), sizeof entry);
      const auto addend = static_cast<std::uint64_t>(entry.r_addend);
      switch (arch::relocation_kind(ELF64_R_TYPE(entry.r_info))) {
        case arch::RelocationKind::kRelative:
          consider(entry.r_offset, addend);
          break;
        case arch::RelocationKind::kSlot:
          if (const auto value = defined_symbol(ELF64_R_SYM(entry.r_info))) consider(entry.r_offset, *value);
          break;
        case arch::RelocationKind::kAbsolute:
          if (const auto value = defined_symbol(ELF64_R_SYM(entry.r_info)))
            consider(entry.r_offset, *value + addend);
          break;
        default:
          break;
      }
    }
  }

  // The word holds the address already, as linked; the loader adds the load bias.
  void consider_content(std::uint64_t word) {
    // Words come in runs, so the segment of the last one mostly has the next one too.
    if (word < part_start_ || word - part_start_ > part_.size() || part_.size() - (word - part_start_) < 8) {
      part_ = file_.bytes_from({word});
      part_start_ = word;
      if (part_.size() < 8) return;
    }
    std::uint64_t holds;
    std::memcpy(&holds, part_.data() + (word - part_start_), sizeof holds);
    consider(word, holds);
  }

  // An even entry is the address of one word; an odd one says with its upper 63 bits which of the words that
  // follow are meant.
  void read_relr(std::uint64_t table, std::uint64_t size) {
    if (table == 0) return;
    auto bytes = file_.bytes_from({table});
    bytes = bytes.first(std::min<std::uint64_t>(bytes.size(), size));
    std::uint64_t next = 0;
    for (; bytes.size() >= 8; bytes = bytes.subspan(8)) {
      std::uint64_t entry;
      std::memcpy(&entry, bytes.data(), sizeof entry);
      if ((entry & 1) == 0) {
        consider_content(entry);
        next = entry + 8;
      } else {
        for (std::uint64_t bits = entry >> 1, word = next; bits != 0; bits >>= 1, word += 8)
          if ((bits & 1) != 0) consider_content(word);
        next += 63 * 8;
      }
    }
  }

  const elf::ElfFile& file_;
  const std::vector<ElfAddress>& wanted_;
  DynamicTables tables_;
  std::span<const std::byte> part_;
  std::uint64_t part_start_ = 0;
  std::vector<FilledWord> found_;
};

}  // namespace

std::vector<FilledWord> words_holding(const elf::ElfFile& file, const std::vector<ElfAddress>& wanted) {
  return Words(file, wanted).run();
}

}  // namespace fathom::allocators
