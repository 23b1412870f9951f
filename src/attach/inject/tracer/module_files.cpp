#include "attach/inject/tracer/module_files.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

#include "base/arch/relocations.h"

namespace fathom::inject {
namespace {

constexpr std::size_t kMostSegments = 256, kMostTags = 4096;
constexpr std::uint64_t kMostRelocations = std::uint64_t{1} << 24;

std::size_t read_at(int fd, std::uint64_t offset, std::span<std::byte> out) {
  std::size_t done = 0;
  while (done < out.size()) {
    const ssize_t n = ::pread(fd, out.data() + done, out.size() - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    done += static_cast<std::size_t>(n);
  }
  return done;
}

template <class T>
bool read_all(int fd, std::uint64_t offset, std::span<T> out) {
  return offset < INT64_MAX && read_at(fd, offset, std::as_writable_bytes(out)) == out.size_bytes();
}

// One file's segments, and the needed parts of its dynamic section.
class Image {
 public:
  static std::optional<Image> open(int fd) {
    Image image;
    image.fd_ = fd;
    Elf64_Ehdr header;
    if (!read_all(fd, 0, std::span(&header, 1)) || header.e_phentsize != sizeof(Elf64_Phdr) ||
        header.e_phnum > kMostSegments)
      return std::nullopt;
    image.fixed_ = header.e_type == ET_EXEC;
    image.segments_.resize(header.e_phnum);
    if (!read_all(fd, header.e_phoff, std::span(image.segments_))) return std::nullopt;
    return image;
  }

  bool fixed() const { return fixed_; }
  // Two segments may share a page of the file, which is then mapped twice: the writable one counts.
  std::optional<std::uint64_t> data_address_of(std::uint64_t offset) const {
    for (const Elf64_Phdr& segment : segments_)
      if (segment.p_type == PT_LOAD && (segment.p_flags & PF_W) != 0 && offset >= segment.p_offset &&
          offset - segment.p_offset < segment.p_filesz)
        return segment.p_vaddr + (offset - segment.p_offset);
    return std::nullopt;
  }
  std::optional<std::uint64_t> offset_of(std::uint64_t address) const {
    for (const Elf64_Phdr& segment : segments_)
      if (segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
          address - segment.p_vaddr < segment.p_filesz)
        return segment.p_offset + (address - segment.p_vaddr);
    return std::nullopt;
  }
  std::optional<std::uint64_t> tag(std::int64_t wanted) const {
    for (const Elf64_Phdr& segment : segments_) {
      if (segment.p_type != PT_DYNAMIC) continue;
      std::vector<Elf64_Dyn> tags(std::min<std::uint64_t>(segment.p_filesz / sizeof(Elf64_Dyn), kMostTags));
      if (!read_all(fd_, segment.p_offset, std::span(tags))) return std::nullopt;
      for (const Elf64_Dyn& each : tags) {
        if (each.d_tag == DT_NULL) break;
        if (each.d_tag == wanted) return each.d_un.d_val;
      }
    }
    return std::nullopt;
  }
  // The relocation of the word at this address, in the table whose place and size two tags give.
  std::optional<Elf64_Rela> relocation(std::uint64_t address, std::int64_t table, std::int64_t bytes) const {
    const auto start = tag(table), size = tag(bytes);
    const auto offset = start ? offset_of(*start) : std::nullopt;
    if (!offset || !size) return std::nullopt;
    const std::uint64_t count = std::min(*size / sizeof(Elf64_Rela), kMostRelocations);
    std::vector<Elf64_Rela> some(4096);
    for (std::uint64_t at = 0; at < count; at += some.size()) {
      const auto part = std::span(some).first(std::min<std::uint64_t>(some.size(), count - at));
      if (!read_all(fd_, *offset + at * sizeof(Elf64_Rela), part)) return std::nullopt;
      for (const Elf64_Rela& each : part)
        if (each.r_offset == address) return each;
    }
    return std::nullopt;
  }
  // Its address as linked; nullopt: the symbol belongs to another module.
  std::optional<std::uint64_t> own_symbol(std::uint64_t number) const {
    const auto table = tag(DT_SYMTAB);
    const auto offset = table ? offset_of(*table) : std::nullopt;
    Elf64_Sym symbol;
    if (!offset || !read_all(fd_, *offset + number * sizeof(symbol), std::span(&symbol, 1)) ||
        symbol.st_shndx == SHN_UNDEF || ELF64_ST_TYPE(symbol.st_info) == STT_GNU_IFUNC)
      return std::nullopt;
    return symbol.st_value;
  }

 private:
  int fd_ = -1;
  bool fixed_ = false;
  std::vector<Elf64_Phdr> segments_;
};

std::optional<std::uint64_t> relocated(const Image& image, const Elf64_Rela& relocation, std::uint64_t bias) {
  const auto addend = static_cast<std::uint64_t>(relocation.r_addend);
  const auto symbol = image.own_symbol(ELF64_R_SYM(relocation.r_info));
  switch (arch::relocation_kind(ELF64_R_TYPE(relocation.r_info))) {
    case arch::RelocationKind::kRelative:
      return bias + addend;
    case arch::RelocationKind::kAbsolute:
      return symbol ? std::optional(bias + *symbol + addend) : std::nullopt;
    case arch::RelocationKind::kSlot:
      return symbol ? std::optional(bias + *symbol) : std::nullopt;
    default:
      return std::nullopt;
  }
}

}  // namespace

const process::MapEntry* ModuleFiles::mapping_of(std::uint64_t address, std::uint64_t bytes) const {
  for (const process::MapEntry& entry : maps_)
    if (address >= entry.start.value && address < entry.end.value)
      return bytes <= entry.end.value - address ? &entry : nullptr;
  return nullptr;
}

bool ModuleFiles::is_text(const process::MapEntry& entry) {
  return entry.is_file() && entry.path.front() == '/' && !entry.shared && entry.executable && entry.readable;
}
bool ModuleFiles::is_data(const process::MapEntry& entry) {
  return entry.is_file() && entry.path.front() == '/' && !entry.shared && !entry.executable && entry.readable;
}

int ModuleFiles::file_of(const process::MapEntry& entry) {
  const auto [known, is_new] = files_.try_emplace({entry.device_major, entry.device_minor, entry.inode});
  if (!is_new) return known->second.get();
  // The name may now refer to anything, even to a file that blocks when opened.
  constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  Fd fd(::open(process::map_files_path(pid_, entry).c_str(), kFlags));
  if (!fd) fd = Fd(::open(fmt::format("/proc/{}/root{}", pid_, entry.path).c_str(), kFlags));
  struct stat status {};
  if (fd && (::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_ino != entry.inode))
    fd = Fd();
  known->second = std::move(fd);
  return known->second.get();
}

std::optional<std::size_t> ModuleFiles::read(const process::MapEntry& entry, std::uint64_t offset,
                                             std::span<std::byte> out) {
  const int fd = file_of(entry);
  if (fd < 0) return std::nullopt;
  return read_at(fd, entry.offset.value + offset, out);
}

std::optional<std::uint64_t> ModuleFiles::word_at_start(std::uint64_t address) {
  const process::MapEntry* entry = mapping_of(address, sizeof(std::uint64_t));
  const int fd = entry != nullptr && is_data(*entry) ? file_of(*entry) : -1;
  const auto image = fd >= 0 ? Image::open(fd) : std::nullopt;
  if (!image) return std::nullopt;
  const std::uint64_t offset = entry->offset.value + (address - entry->start.value);
  const auto linked = image->data_address_of(offset);
  std::uint64_t stored = 0;
  if (!linked || !read_all(fd, offset, std::span(&stored, 1))) return std::nullopt;
  if (image->fixed()) return stored;

  const std::uint64_t bias = address - *linked;
  for (const auto& [table, bytes] :
       {std::pair<std::int64_t, std::int64_t>(DT_RELA, DT_RELASZ), {DT_JMPREL, DT_PLTRELSZ}})
    if (const auto found = image->relocation(*linked, table, bytes)) return relocated(*image, *found, bias);
  // Packed relative relocations store the addend at the relocated place.
  constexpr std::int64_t kRelr = 36;
  return stored != 0 && image->tag(kRelr) ? std::optional(bias + stored) : std::nullopt;
}

}  // namespace fathom::inject
