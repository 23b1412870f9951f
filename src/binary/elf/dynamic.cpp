// The loader's input: PT_INTERP and PT_DYNAMIC.
#include <elf.h>

#include <algorithm>

#include "base/cursor.h"
#include "binary/elf/elf_file.h"

namespace fathom::elf {
namespace {

// Far more than any real file has. They bound the work that a hostile file can ask for.
constexpr std::size_t kMostNeeded = 4096;
constexpr std::size_t kLongestName = 4096;  // PATH_MAX

}  // namespace

void ElfFile::read_dynamic() {
  if (const Segment* interpreter = segment(PT_INTERP)) {
    Cursor in(stored(interpreter->offset, std::min<std::uint64_t>(interpreter->file_size, kLongestName)));
    interpreter_ = in.read_c_string();
  }
  const Segment* dynamic = segment(PT_DYNAMIC);
  if (dynamic == nullptr) return;

  std::vector<std::uint64_t> needed;
  Cursor in(stored(dynamic->offset, dynamic->file_size));
  while (in.remaining() >= sizeof(Elf64_Dyn)) {
    const auto tag = in.read<std::uint64_t>();
    const auto value = in.read<std::uint64_t>();
    if (tag == DT_NULL) break;
    if (tag == DT_NEEDED && needed.size() < kMostNeeded) needed.push_back(value);
    if (tag == DT_STRTAB) dynamic_.names = value;
    if (tag == DT_STRSZ) dynamic_.names_size = value;
    if (tag == DT_SYMTAB) dynamic_.symbols = value;
    if (tag == DT_HASH) dynamic_.hash = value;
    if (tag == DT_GNU_HASH) dynamic_.gnu_hash = value;
  }
  const auto names = bytes_at({dynamic_.names}, dynamic_.names_size);
  if (!names) return;
  for (const std::uint64_t offset : needed) {
    if (offset >= names->size()) continue;
    const auto rest = names->subspan(static_cast<std::size_t>(offset));
    Cursor text(rest.first(std::min(rest.size(), kLongestName)));
    if (const auto name = text.read_c_string(); !name.empty()) needed_.emplace_back(name);
  }
}

}  // namespace fathom::elf
