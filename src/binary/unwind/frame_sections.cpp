#include "binary/unwind/frame_sections.h"

#include <elf.h>

#include <algorithm>

#include "base/cursor.h"
#include "binary/dwarf/pointer_encoding.h"

namespace fathom::unwind {
namespace {

// Code of one module spans no more than this, by the code models of the ABI. It bounds the page index that a
// hostile file can ask for.
constexpr std::uint64_t kLargestSpan = std::uint64_t{1} << 32;

// .eh_frame_hdr: version, three encodings, the address of .eh_frame, and a search table that we do not need.
std::optional<ElfAddress> address_in_header(const elf::ElfFile& file, const elf::Segment& header) {
  const auto bytes = file.bytes_at(header.address, header.file_size);
  if (!bytes) return std::nullopt;
  Cursor in(*bytes);
  if (in.read<std::uint8_t>() != 1) return std::nullopt;
  const auto encoding = in.read<std::uint8_t>();
  in.skip(2);  // encodings of the count and of the search table
  const auto address = dwarf::read_pointer(
      in, encoding, {.section = header.address.value, .data = header.address.value, .function = 0});
  return address ? std::optional(ElfAddress{*address}) : std::nullopt;
}

std::optional<dwarf::FrameSection> find_eh_frame(const elf::ElfFile& file) {
  const elf::Section* section = file.section(".eh_frame");
  if (section != nullptr && section->type == SHT_NOBITS) section = nullptr;  // a separate debug file
  if (const elf::Segment* header = file.segment(PT_GNU_EH_FRAME)) {
    const auto address = address_in_header(file, *header);
    const auto bytes = address ? file.bytes_from(*address) : std::span<const std::byte>();
    if (!bytes.empty()) {
      const bool size_known =
          section != nullptr && section->address == *address && section->size <= bytes.size();
      return dwarf::FrameSection{size_known ? bytes.first(static_cast<std::size_t>(section->size)) : bytes,
                                 *address, dwarf::FrameKind::kEhFrame, header->address, !size_known};
    }
  }
  if (section == nullptr) return std::nullopt;
  const auto contents = file.contents(*section);
  if (!contents || contents->owned()) return std::nullopt;  // a loaded section is never compressed
  return dwarf::FrameSection{contents->bytes(), section->address, dwarf::FrameKind::kEhFrame, {}, false};
}

}  // namespace

FrameSections find_frame_sections(const elf::ElfFile& file) {
  FrameSections found;
  found.eh_frame = find_eh_frame(file);
  if (const elf::Section* section = file.debug_section(".debug_frame")) {
    if (auto contents = file.contents(*section); contents && !contents->bytes().empty()) {
      found.debug_frame_data = std::move(*contents);
      found.debug_frame =
          dwarf::FrameSection{found.debug_frame_data.bytes(), {}, dwarf::FrameKind::kDebugFrame, {}, false};
    }
  }
  return found;
}

std::vector<CodeRange> code_ranges(const elf::ElfFile& file) {
  std::vector<CodeRange> ranges;
  for (const elf::Segment& each : file.segments()) {
    if (each.type != PT_LOAD || (each.flags & PF_X) == 0 || each.memory_size == 0) continue;
    const std::uint64_t start = each.address.value;
    if (start + each.memory_size > start) ranges.push_back({start, start + each.memory_size});
  }
  std::sort(ranges.begin(), ranges.end(),
            [](const CodeRange& a, const CodeRange& b) { return a.start < b.start; });
  if (!ranges.empty()) {
    const std::uint64_t base = ranges.front().start;
    std::erase_if(ranges, [&](const CodeRange& range) { return range.end - base > kLargestSpan; });
  }
  return ranges;
}

std::vector<CodeRange> code_sections(const elf::ElfFile& file, const std::vector<CodeRange>& ranges) {
  std::vector<CodeRange> code;
  for (const elf::Section& each : file.sections())
    if (each.type == SHT_PROGBITS && (each.flags & SHF_EXECINSTR) != 0 && each.size != 0 &&
        size_within(ranges, each.address.value, each.size) == each.size)
      code.push_back({each.address.value, each.address.value + each.size});
  std::sort(code.begin(), code.end(),
            [](const CodeRange& a, const CodeRange& b) { return a.start < b.start; });
  // Sections of a broken file may lie over each other.
  std::uint64_t end = 0;
  for (CodeRange& each : code) {
    each.start = std::max(each.start, end);
    end = std::max(end, each.end);
  }
  std::erase_if(code, [](const CodeRange& each) { return each.start >= each.end; });
  return code.empty() ? ranges : code;
}

std::uint64_t size_within(const std::vector<CodeRange>& ranges, std::uint64_t start, std::uint64_t size) {
  for (const CodeRange& range : ranges)
    if (start >= range.start && start < range.end) return std::min(size, range.end - start);
  return 0;
}

}  // namespace fathom::unwind
