#include "formats/bytehound/code.h"

#include <elf.h>

#include <algorithm>
#include <span>

#include "base/stable_sort.h"
#include "base/text.h"
#include "binary/elf/elf_file.h"
#include "binary/symbolize/demangle.h"
#include "linux/process/maps.h"

namespace fathom::formats::bytehound {
namespace {

constexpr std::uint64_t kPageMask = ~std::uint64_t{0xfff};
constexpr std::size_t kMostMappings = 1 << 16, kMostPrograms = 4096;

bool is_of_tool(std::string_view path) {
  const std::string_view name = base_name(path);
  return name.find("libbytehound") != std::string_view::npos ||
         name.find("libmemory_profiler") != std::string_view::npos;
}

}  // namespace

void Code::take_maps(std::string_view text) {
  const Result<std::vector<process::MapEntry>> maps = process::parse_maps(text);
  if (!maps) {
    bad_maps_ = true;
    return;
  }
  mappings_.clear();
  for (const process::MapEntry& entry : *maps)
    if (entry.executable && !entry.path.empty() && mappings_.size() < kMostMappings)
      mappings_[entry.start.value] = {entry.end.value, entry.offset.value, entry.path, false, false, {}, 0,
                                      nullptr};
}

void Code::add_region(const Event& event) {
  if ((event.flags & kRegionExecutable) == 0 || event.path.empty() || event.length == 0 ||
      event.length > UINT64_MAX - event.pointer || mappings_.size() >= kMostMappings)
    return;
  std::string path = event.path;
  process::strip_deleted(path);
  mappings_[event.pointer] = {
      event.pointer + event.length, event.file_offset, std::move(path), false, false, {}, 0, nullptr};
}

void Code::remove_region(const Event& event) {
  const auto mapping = mappings_.find(event.pointer);
  if (mapping != mappings_.end() && mapping->second.end - event.pointer <= event.length)
    mappings_.erase(mapping);
}

void Code::take_file(const std::string& path, std::string_view contents) {
  if (!contents.starts_with("\x7f"
                            "ELF") ||
      programs_.size() >= kMostPrograms || programs_.contains(path))
    return;
  const Result<elf::ElfFile> file = elf::ElfFile::parse(std::as_bytes(std::span(contents)), path);
  if (!file) return;
  Program& program = programs_[path];
  program.identity = file->identity();
  for (const elf::Segment& segment : file->segments())
    if (segment.type == PT_LOAD)
      program.loads.push_back(
          {segment.offset.value, segment.address.value, segment.file_size, (segment.flags & PF_X) != 0});
  std::vector<elf::Symbol> symbols = file->symbols(elf::SymbolTable::kSymtab);
  if (symbols.empty()) symbols = file->symbols(elf::SymbolTable::kDynsym);
  // Many symbols may share one long name, so what is kept of a program is bounded by its own size, and by what all may have.
  std::size_t room = std::min(4 * contents.size(), room_);
  room_ -= room;
  for (const elf::Symbol& symbol : symbols) {
    const bool function = symbol.type == STT_FUNC || symbol.type == STT_GNU_IFUNC;
    if (!function || symbol.section == SHN_UNDEF || symbol.size == 0 || symbol.name.empty()) continue;
    if (sizeof(Name) + symbol.name.size() > room) break;
    room -= sizeof(Name) + symbol.name.size();
    program.names.push_back({symbol.address.value, symbol.size, std::string(symbol.name)});
  }
  room_ += room;
  stable_sort_rows(program.names, {}, &Name::address);
  // A mapping that was looked at before its file came is looked at again.
  for (auto& [start, mapping] : mappings_)
    if (mapping.path == path) mapping.known = false;
}

void Code::find(std::uint64_t start, Mapping& mapping) {
  mapping.known = true;
  mapping.of_tool = is_of_tool(mapping.path);
  const auto program = programs_.find(mapping.path);
  if (program == programs_.end()) {
    mapping.program = nullptr;
    const auto [known, added] = unknown_.try_emplace(mapping.path);
    if (added) {
      model::Module row;
      row.name = import_.builder.string(base_name(mapping.path));
      row.path = import_.builder.string(mapping.path);
      known->second = import_.builder.module(row);
      ++without_contents_;
    }
    mapping.module = known->second;
    mapping.bias = 0;
    return;
  }
  mapping.program = &program->second;
  mapping.module = import_.module(
      mapping.path, program->second.identity,
      program->second.names.empty() ? model::SymbolSource::kNone : model::SymbolSource::kSymtab);
  // The kernel maps whole pages, so the first page of the code may hold the end of the segment before it.
  mapping.bias = start - mapping.offset;
  for (const Load& load : program->second.loads) {
    const std::uint64_t first = load.offset & kPageMask;
    if (!load.code || mapping.offset < first || mapping.offset - first >= load.size + (load.offset - first))
      continue;
    mapping.bias = start - ((load.address & kPageMask) + (mapping.offset - first));
    break;
  }
}

Code::Place Code::place(std::uint64_t address) {
  auto mapping = mappings_.upper_bound(address);
  if (mapping == mappings_.begin() || address >= (--mapping)->second.end)
    return {import_.builder.frame({0}, {address}), false};
  if (!mapping->second.known) find(mapping->first, mapping->second);
  return {frame_of(mapping->second, address - mapping->second.bias), mapping->second.of_tool};
}

model::FrameId Code::frame_of(const Mapping& mapping, std::uint64_t address) {
  const auto [known, added] = frames_.try_emplace({mapping.module.value, address});
  if (!added) return known->second;
  known->second = import_.builder.frame(mapping.module, {address});
  if (mapping.program == nullptr) return known->second;
  const std::vector<Name>& names = mapping.program->names;
  const auto after = std::ranges::upper_bound(names, address, {}, &Name::address);
  if (after == names.begin()) return known->second;
  const Name& name = *std::prev(after);
  if (address - name.address < name.size)
    import_.builder.name_frame(known->second, {{symbolize::demangle(name.mangled), {}, 0}});
  return known->second;
}

}  // namespace fathom::formats::bytehound
