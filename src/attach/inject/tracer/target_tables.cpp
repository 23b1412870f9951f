#include "attach/inject/tracer/target_tables.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/auxv.h>
#include <sys/stat.h>

#include <map>
#include <memory>
#include <optional>
#include <tuple>

#include "attach/inject/plan/placement.h"
#include "base/fd.h"
#include "binary/elf/module_file.h"

namespace fathom::inject {
namespace {

struct Module {
  elf::ModuleFile file;
  std::shared_ptr<const unwind::Table> table;
};

std::optional<elf::ModuleFile> open_file(int pid, const process::MapEntry& mapping) {
  if (mapping.path == "[vdso]") {
    // Every 64-bit process has the same vdso image, including this one.
    const auto* image = reinterpret_cast<const std::byte*>(::getauxval(AT_SYSINFO_EHDR));
    if (image == nullptr) return std::nullopt;
    auto file = elf::ModuleFile::of_memory({image, static_cast<std::size_t>(mapping.size())}, mapping.path);
    return file ? std::optional(std::move(*file)) : std::nullopt;
  }
  Fd fd(::open(process::map_files_path(pid, mapping).c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) {
    // Without permission to follow map_files: by name, if that is still the same file.
    fd = Fd(::open(fmt::format("/proc/{}/root{}", pid, mapping.path).c_str(), O_RDONLY | O_CLOEXEC));
    struct stat status {};
    if (!fd || ::fstat(fd.get(), &status) != 0 || status.st_ino != mapping.inode) return std::nullopt;
  }
  auto file = elf::ModuleFile::of_fd(fd.get(), mapping.path);
  return file ? std::optional(std::move(*file)) : std::nullopt;
}

std::optional<Module> load(int pid, const process::MapEntry& mapping) {
  auto file = open_file(pid, mapping);
  if (!file) return std::nullopt;
  auto table = unwind::build_table(file->elf());
  if (!table) return std::nullopt;
  return Module{std::move(*file), std::make_shared<const unwind::Table>(std::move(*table))};
}

// Process address minus ELF address. The first page of the code may hold the end of the previous segment in
// the file, so the executable segment decides, not the one that holds the mapping's first byte.
std::optional<std::uint64_t> bias_of(const elf::ElfFile& file, const process::MapEntry& mapping) {
  for (const elf::Segment& segment : file.segments()) {
    if (segment.type != PT_LOAD || (segment.flags & PF_X) == 0) continue;
    const std::uint64_t first = segment.offset.value / kPage * kPage;
    if (mapping.offset.value < first || mapping.offset.value >= segment.offset.value + segment.file_size)
      continue;
    return mapping.start.value - (segment.address.value / kPage * kPage + (mapping.offset.value - first));
  }
  return std::nullopt;
}

}  // namespace

unwind::AddressSpace read_unwind_tables(int pid, std::span<const process::MapEntry> maps) {
  unwind::AddressSpace space;
  using FileKey = std::tuple<std::uint32_t, std::uint32_t, std::uint64_t, std::string>;
  std::map<FileKey, std::optional<Module>> modules;
  for (const process::MapEntry& entry : maps) {
    if (!entry.executable || entry.path == "[vsyscall]") continue;
    std::optional<std::uint64_t> bias;
    std::shared_ptr<const unwind::Table> table;
    if (entry.path == "[vdso]" || (entry.is_file() && entry.path.front() == '/')) {
      const auto [place, is_new] =
          modules.try_emplace({entry.device_major, entry.device_minor, entry.inode, entry.path});
      if (is_new) place->second = load(pid, entry);
      if (place->second) bias = bias_of(place->second->file.elf(), entry);
      if (bias) table = place->second->table;
    }
    space.add(entry.start, entry.end, bias.value_or(0), std::move(table));
  }
  return space;
}

}  // namespace fathom::inject
