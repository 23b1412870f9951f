#include "binary/elf/elf_file.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/cursor.h"

namespace fathom::elf {
namespace {

constexpr std::uint64_t kSegmentEntry = sizeof(Elf64_Phdr);
constexpr std::uint64_t kSectionEntry = sizeof(Elf64_Shdr);

Segment read_segment(Cursor in) {
  Segment segment{};
  segment.type = in.read<std::uint32_t>();
  segment.flags = in.read<std::uint32_t>();
  segment.offset.value = in.read<std::uint64_t>();
  segment.address.value = in.read<std::uint64_t>();
  in.skip(8);  // physical address
  segment.file_size = in.read<std::uint64_t>();
  segment.memory_size = in.read<std::uint64_t>();
  segment.alignment = in.read<std::uint64_t>();
  return segment;
}

struct RawSection {
  Section section{};
  std::uint32_t name = 0;
};

RawSection read_section(Cursor in) {
  RawSection raw;
  Section& section = raw.section;
  raw.name = in.read<std::uint32_t>();
  section.type = in.read<std::uint32_t>();
  section.flags = in.read<std::uint64_t>();
  section.address.value = in.read<std::uint64_t>();
  section.offset.value = in.read<std::uint64_t>();
  section.size = in.read<std::uint64_t>();
  section.link = in.read<std::uint32_t>();
  section.info = in.read<std::uint32_t>();
  section.alignment = in.read<std::uint64_t>();
  section.entry_size = in.read<std::uint64_t>();
  return raw;
}

}  // namespace

std::span<const std::byte> ElfFile::stored(FileOffset offset, std::uint64_t size) const {
  if (offset.value >= bytes_.size()) return {};
  const auto rest = bytes_.subspan(static_cast<std::size_t>(offset.value));
  return rest.first(static_cast<std::size_t>(std::min<std::uint64_t>(size, rest.size())));
}

Result<ElfFile> ElfFile::parse(std::span<const std::byte> bytes, std::string name) {
  Cursor in(bytes);
  if (in.read_chars(4) != std::string_view("\x7f"
                                           "ELF"))
    return fathom::fail(ErrorKind::kUnsupported, name + ": not an ELF file");
  const auto file_class = in.read<std::uint8_t>();
  const auto order = in.read<std::uint8_t>();
  in.skip(10);
  if (in.ok() && (file_class != ELFCLASS64 || order != ELFDATA2LSB))
    return fathom::fail(ErrorKind::kUnsupported, name + ": not a 64-bit little-endian ELF file");

  ElfFile file;
  file.name_ = std::move(name);
  file.bytes_ = bytes;
  file.type_ = in.read<std::uint16_t>();
  file.machine_ = in.read<std::uint16_t>();
  in.skip(4);  // version
  file.entry_.value = in.read<std::uint64_t>();
  const auto segment_offset = in.read<std::uint64_t>();
  const auto section_offset = in.read<std::uint64_t>();
  in.skip(6);  // flags, header size
  const auto segment_size = in.read<std::uint16_t>();
  std::uint64_t segment_count = in.read<std::uint16_t>();
  const auto section_size = in.read<std::uint16_t>();
  std::uint64_t section_count = in.read<std::uint16_t>();
  std::uint32_t name_section = in.read<std::uint16_t>();
  if (!in.ok()) return fathom::fail(ErrorKind::kMalformed, file.name_ + ": ELF header is cut short");

  // gABI: numbers that do not fit in the header are in the first, otherwise unused section header.
  if (section_offset != 0 && section_size >= kSectionEntry) {
    const auto first = file.stored({section_offset}, kSectionEntry);
    if (first.size() == kSectionEntry) {
      const Section extra = read_section(Cursor(first)).section;
      if (segment_count == PN_XNUM) segment_count = extra.info;
      if (section_count == 0) section_count = extra.size;
      if (name_section == SHN_XINDEX) name_section = extra.link;
    }
  }
  if (segment_count != 0) {
    if (auto read = file.read_segments(segment_offset, segment_count, segment_size); !read)
      return tl::unexpected(read.error());
  }
  if (section_offset != 0) file.read_sections(section_offset, section_count, section_size, name_section);
  file.read_dynamic();
  return file;
}

Result<> ElfFile::read_segments(std::uint64_t offset, std::uint64_t count, std::uint64_t entry_size) {
  if (entry_size < kSegmentEntry)
    return fathom::fail(ErrorKind::kMalformed,
                        fmt::format("{}: program headers of {} bytes each", name_, entry_size));
  Cursor in(bytes_);
  in.skip(offset);
  if (!in.ok() || count > in.remaining() / entry_size)
    return fathom::fail(
        ErrorKind::kMalformed,
        fmt::format("{}: {} program headers at offset {} are cut short", name_, count, offset));
  segments_.reserve(static_cast<std::size_t>(count));
  for (std::uint64_t i = 0; i < count; ++i) segments_.push_back(read_segment(in.sub(entry_size)));
  return {};
}

void ElfFile::read_sections(std::uint64_t offset, std::uint64_t count, std::uint64_t entry_size,
                            std::uint32_t names) {
  if (entry_size < kSectionEntry) return;
  Cursor in(bytes_);
  in.skip(offset);
  if (!in.ok() || count > in.remaining() / entry_size) return;

  std::vector<RawSection> raw;
  raw.reserve(static_cast<std::size_t>(count));
  for (std::uint64_t i = 0; i < count; ++i) raw.push_back(read_section(in.sub(entry_size)));

  std::span<const std::byte> name_bytes;
  if (names < raw.size() && raw[names].section.type == SHT_STRTAB)
    name_bytes = stored(raw[names].section.offset, raw[names].section.size);
  sections_.reserve(raw.size());
  for (RawSection& each : raw) {
    Cursor name(name_bytes);
    name.skip(each.name);
    each.section.name = name.read_c_string();
    sections_.push_back(each.section);
  }
}

const Segment* ElfFile::segment(std::uint32_t type) const {
  const auto found =
      std::find_if(segments_.begin(), segments_.end(), [&](const Segment& s) { return s.type == type; });
  return found == segments_.end() ? nullptr : &*found;
}

const Section* ElfFile::section(std::string_view name) const {
  const auto found =
      std::find_if(sections_.begin(), sections_.end(), [&](const Section& s) { return s.name == name; });
  return found == sections_.end() ? nullptr : &*found;
}

const Section* ElfFile::debug_section(std::string_view name) const {
  if (const Section* found = section(name)) return found;
  const Section* old = name.starts_with(".debug_") ? section(fmt::format(".z{}", name.substr(1))) : nullptr;
  return old != nullptr && is_compressed(*old) ? old : nullptr;
}

bool ElfFile::is_compressed(const Section& part) const {
  if (part.type == SHT_NOBITS) return false;
  return (part.flags & SHF_COMPRESSED) != 0 || is_zdebug(part.name, stored(part.offset, part.size));
}

std::uint64_t ElfFile::claimed_size(const Section& part) const {
  if (part.type == SHT_NOBITS) return 0;
  const auto bytes = stored(part.offset, part.size);
  if ((part.flags & SHF_COMPRESSED) != 0) return elf::claimed_size(bytes);
  return is_zdebug(part.name, bytes) ? zdebug_claimed_size(bytes) : bytes.size();
}

Result<SectionData> ElfFile::contents(const Section& part) const {
  if (part.type == SHT_NOBITS) return SectionData();
  const auto bytes = stored(part.offset, part.size);
  const auto where = [&] {
    return fmt::format("{}: section {} at offset {}", name_, part.name, part.offset.value);
  };
  if (bytes.size() != part.size) return fathom::fail(ErrorKind::kMalformed, where() + " is cut short");
  if (!is_compressed(part)) return SectionData(bytes);
  auto inflated = (part.flags & SHF_COMPRESSED) != 0 ? inflate_section(bytes) : inflate_zdebug_section(bytes);
  if (!inflated) return within(where(), inflated.error());
  return SectionData(std::move(*inflated));
}

std::optional<DebugLink> ElfFile::debug_link() const {
  const Section* link = section(".gnu_debuglink");
  if (link == nullptr || link->type == SHT_NOBITS) return std::nullopt;
  Cursor in(stored(link->offset, link->size));
  const auto file = in.read_c_string();
  in.skip((4 - in.offset() % 4) % 4);
  const auto crc = in.read<std::uint32_t>();
  if (!in.ok() || file.empty()) return std::nullopt;
  return DebugLink{std::string(file), crc};
}

std::optional<ElfAddress> ElfFile::address_of(FileOffset offset) const {
  for (const Segment& each : segments_) {
    if (each.type != PT_LOAD || offset < each.offset) continue;
    const std::uint64_t inside = offset.value - each.offset.value;
    if (inside < each.file_size) return ElfAddress{each.address.value + inside};
  }
  return std::nullopt;
}

std::optional<FileOffset> ElfFile::offset_of(ElfAddress address) const {
  for (const Segment& each : segments_) {
    if (each.type != PT_LOAD || address < each.address) continue;
    const std::uint64_t inside = address.value - each.address.value;
    if (inside < each.file_size) return FileOffset{each.offset.value + inside};
  }
  return std::nullopt;
}

std::span<const std::byte> ElfFile::bytes_from(ElfAddress address) const {
  for (const Segment& each : segments_) {
    if (each.type != PT_LOAD || address < each.address) continue;
    const std::uint64_t inside = address.value - each.address.value;
    if (inside >= each.file_size) continue;
    const auto segment_bytes = stored(each.offset, each.file_size);
    if (inside >= segment_bytes.size()) return {};
    return segment_bytes.subspan(static_cast<std::size_t>(inside));
  }
  return {};
}

std::optional<std::span<const std::byte>> ElfFile::bytes_at(ElfAddress address, std::uint64_t size) const {
  const auto rest = bytes_from(address);
  if (rest.empty() || size > rest.size()) return std::nullopt;
  return rest.first(static_cast<std::size_t>(size));
}

}  // namespace fathom::elf
