#include "binary/symbolize/dwarf_file.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <filesystem>
#include <utility>
#include <vector>

#include "base/cursor.h"

namespace fathom::symbolize {
namespace {

// Bytes; a size in a header is a claim, and no real debug information exceeds this.
constexpr std::uint64_t kLargestInflated = std::uint64_t{4} << 30;

bool is_debug_section(std::string_view name) {
  return name.starts_with(".debug_") || name.starts_with(".zdebug_") || name == ".gnu_debugaltlink";
}

std::string hex(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned>(byte));
  return text;
}

// nullopt: nothing is compressed, and the file can be read as it is.
Result<std::optional<DebugImage>> unpack(const elf::ElfFile& file) {
  bool compressed = false;
  std::uint64_t total = 0;
  for (const elf::Section& section : file.sections()) {
    if (!is_debug_section(section.name)) continue;
    compressed = compressed || file.is_compressed(section);
    const std::uint64_t size = file.claimed_size(section);
    if (size > kLargestInflated || (total += size) > kLargestInflated)
      return fail(ErrorKind::kMalformed,
                  file.name() + ": debug sections claim to inflate to more than 4 GiB");
  }
  if (!compressed) return std::optional<DebugImage>();
  std::vector<elf::SectionData> contents;
  std::vector<DebugSection> sections;
  for (const elf::Section& section : file.sections()) {
    if (!is_debug_section(section.name) || section.type == SHT_NOBITS) continue;
    auto content = file.contents(section);
    if (!content) continue;  // costs what is in it
    contents.push_back(std::move(*content));
    std::string name(section.name);
    if (name.starts_with(".z")) name.erase(1, 1);
    sections.push_back({std::move(name), contents.back().bytes()});
  }
  return std::optional(make_debug_image(file.machine(), std::move(sections)));
}

}  // namespace

std::string beside(const std::string& module, const std::string& name) {
  if (name.starts_with('/')) return name;
  return (std::filesystem::path(module).parent_path() / name).lexically_normal().string();
}

std::optional<PointedFile> open_pointed_file(const PointedPaths& paths, const std::string& path) {
  if (path.empty() || !path.starts_with('/')) return std::nullopt;
  // Not blocking: the name may lead to a FIFO.
  Fd fd(::open((paths.root + path).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat status {};
  if (!fd || ::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  auto file = elf::ModuleFile::of_fd(fd.get(), path);
  if (!file) return std::nullopt;
  return PointedFile{std::move(fd), std::move(*file)};
}

Result<std::unique_ptr<DwarfFile>> DwarfFile::open(int fd, const elf::ElfFile& file,
                                                   const PointedPaths& paths) {
  auto opened = open_alone(fd, file);
  if (opened) (*opened)->open_shared(file, paths);
  return opened;
}

Result<std::unique_ptr<DwarfFile>> DwarfFile::open_alone(int fd, const elf::ElfFile& file) {
  std::unique_ptr<DwarfFile> opened(new DwarfFile());
  opened->file_ = &file;
  auto image = unpack(file);
  if (!image) return tl::unexpected(image.error());
  ::elf_version(EV_CURRENT);
  if (*image) {
    opened->image_ = std::move(**image);
    auto& bytes = opened->image_.bytes;
    if (auto begun =
            opened->begin(::elf_memory(reinterpret_cast<char*>(bytes.data()), bytes.size()), file.name());
        !begun)
      return tl::unexpected(begun.error());
  } else if (auto begun = opened->begin(::elf_begin(fd, ELF_C_READ_MMAP, nullptr), file.name()); !begun) {
    return tl::unexpected(begun.error());
  }
  return opened;
}

Result<std::unique_ptr<DwarfFile>> DwarfFile::of_image(DebugImage image, const std::string& name) {
  std::unique_ptr<DwarfFile> opened(new DwarfFile());
  opened->image_ = std::move(image);
  auto& bytes = opened->image_.bytes;
  ::elf_version(EV_CURRENT);
  if (auto begun = opened->begin(::elf_memory(reinterpret_cast<char*>(bytes.data()), bytes.size()), name);
      !begun)
    return tl::unexpected(begun.error());
  return opened;
}

Result<> DwarfFile::begin(Elf* elf, const std::string& name) {
  elf_ = elf;
  if (elf_ == nullptr) return fail(ErrorKind::kMalformed, name + ": " + ::elf_errmsg(-1));
  dwarf_ = ::dwarf_begin_elf(elf_, DWARF_C_READ, nullptr);
  if (dwarf_ == nullptr) return fail(ErrorKind::kMalformed, name + ": " + ::dwarf_errmsg(-1));
  return {};
}

DwarfFile::~DwarfFile() {
  if (dwarf_ != nullptr) ::dwarf_end(dwarf_);
  if (elf_ != nullptr) ::elf_end(elf_);
}

std::span<const std::byte> DwarfFile::section(std::string_view name) const {
  for (const DebugSection& section : image_.sections)
    if (section.name == name) return section.bytes;
  if (!image_.bytes.empty() || file_ == nullptr) return {};
  const elf::Section* section = file_->section(name);
  if (section == nullptr || file_->is_compressed(*section)) return {};
  const auto content = file_->contents(*section);
  return content ? content->bytes() : std::span<const std::byte>();
}

void DwarfFile::open_shared(const elf::ElfFile& file, const PointedPaths& paths) {
  const elf::Section* link = file.section(".gnu_debugaltlink");
  const auto content = link != nullptr ? file.contents(*link) : elf::SectionData();
  if (!content || content->bytes().empty()) return;
  Cursor in(content->bytes());
  const std::string name(in.read_c_string());
  const std::string build_id = hex(in.rest());
  if (!in.ok() || name.empty() || build_id.size() < 3) return;
  const std::string file_name = name.substr(name.rfind('/') + 1);
  for (const std::string& path :
       {beside(paths.module, name), "/usr/lib/debug/.dwz/" + file_name,
        fmt::format("/usr/lib/debug/.build-id/{}/{}.debug", build_id.substr(0, 2), build_id.substr(2))}) {
    auto pointed = open_pointed_file(paths, path);
    if (!pointed || pointed->file.elf().build_id() != build_id) continue;
    shared_file_ = std::move(pointed->file);
    auto shared =
        open_alone(pointed->fd.get(), shared_file_->elf());  // a link in there would lead nowhere good
    if (!shared) continue;
    shared_ = std::move(*shared);
    ::dwarf_setalt(dwarf_, shared_->dwarf());
    return;
  }
  problem_ = fmt::format("names that dwz moved into {} are missing: the file with build id {} is not there",
                         beside(paths.module, name), build_id);
}

std::size_t DwarfFile::memory_bytes() const {
  return image_.bytes.capacity() + (shared_ ? shared_->memory_bytes() : 0);
}

}  // namespace fathom::symbolize
