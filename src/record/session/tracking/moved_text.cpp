#include "record/session/tracking/moved_text.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>

#include "base/abandonable.h"
#include "base/clock.h"
#include "base/fd.h"

namespace fathom::session {
namespace {

using process::MapEntry;

constexpr std::uint64_t kPageMask = ~std::uint64_t{0xfff};
// Files are opened for this alone, so of a process with very much code of its own making only the first are looked at. The
// map and the files are the target's: nothing grows with the product of their sizes.
constexpr std::size_t kMostFiles = 64, kMostPlaces = 16, kMostNamed = 256;
// All that is read may be kept back for ever (userfaultfd, a file system that does not answer).
constexpr std::uint64_t kMostNs = 200'000'000;
constexpr std::size_t kComparedBytes = 256, kComparedPlaces = 5;

bool has_no_file(const MapEntry& entry) {
  return !entry.is_file() || entry.path.starts_with("/memfd:") || entry.path.starts_with("/anon_hugepage");
}

bool is_moved(const MapEntry& entry) {
  return entry.executable && has_no_file(entry) && !entry.path.starts_with("[v");
}

std::vector<MapEntry>::const_iterator ending_at_or_after(const std::vector<MapEntry>& entries,
                                                         std::uint64_t address) {
  return std::ranges::lower_bound(entries, address, {},
                                  [](const MapEntry& entry) { return entry.end.value; });
}

// Where the code of a file is mapped, or was.
struct CodePlace {
  std::uint64_t start, end;            // whole pages
  std::uint64_t file_offset;           // of `start`
  std::uint64_t code_start, code_end;  // of what the segment holds in them
  std::uint64_t bias;                  // process address minus ELF address
};
std::vector<CodePlace> code_places(const elf::ElfFile& elf, const MapEntry& mapping) {
  std::optional<std::uint64_t> bias;
  for (const elf::Segment& segment : elf.segments()) {
    const std::uint64_t first = segment.offset.value & kPageMask;
    if (segment.type != PT_LOAD || mapping.offset.value < first ||
        mapping.offset.value >= segment.offset.value + segment.file_size)
      continue;
    // One page of the file may lie in two segments: that with the mapping's own rights is meant.
    const bool is_code = (segment.flags & PF_X) != 0;
    if (bias && is_code != mapping.executable) continue;
    bias = mapping.start.value - ((segment.address.value & kPageMask) + (mapping.offset.value - first));
  }
  std::vector<CodePlace> places;
  if (!bias) return places;
  for (const elf::Segment& segment : elf.segments()) {
    if (segment.type != PT_LOAD || (segment.flags & PF_X) == 0 || segment.file_size == 0) continue;
    const std::uint64_t start = *bias + (segment.address.value & kPageMask);
    const std::uint64_t end = (*bias + segment.address.value + segment.file_size + ~kPageMask) & kPageMask;
    const std::uint64_t code = *bias + segment.address.value;
    if (start < end && places.size() < kMostPlaces)
      places.push_back({start, end, segment.offset.value & kPageMask, code, code + segment.file_size, *bias});
  }
  return places;
}

class Comparison {
 public:
  Comparison(const elf::ElfFile& elf, const MovedTextAccess& access) : elf_(elf), access_(access) {}

  // A few places, the first and the last among them: a copy is whole, and code of another kind differs anywhere.
  bool is_same(std::uint64_t start, std::uint64_t end, const CodePlace& place) const {
    start = std::max(start, place.code_start);
    end = std::min(end, place.code_end);
    if (start >= end || end - start < kComparedBytes) return false;
    for (std::size_t i = 0; i < kComparedPlaces; ++i) {
      const std::uint64_t at = start + (end - start - kComparedBytes) * i / (kComparedPlaces - 1);
      const auto of_file = elf_.bytes_at({at - place.bias}, kComparedBytes);
      std::array<std::byte, kComparedBytes> of_memory{};
      if (!of_file || !access_.read(at, of_memory) || !std::ranges::equal(*of_file, of_memory)) return false;
    }
    return true;
  }

 private:
  const elf::ElfFile& elf_;
  const MovedTextAccess& access_;
};

}  // namespace

void name_moved_text(std::vector<MapEntry>& maps, const MovedTextAccess& access) {
  std::vector<MapEntry> moved;  // by address
  std::ranges::copy_if(maps, std::back_inserter(moved), is_moved);
  if (moved.empty()) return;
  // Of each file the range that it reaches over: its code lies in there, or next to it.
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint64_t, std::string>, std::vector<const MapEntry*>>
      files;
  for (const MapEntry& entry : maps)
    if (entry.path.starts_with('/') && !has_no_file(entry))
      files[{entry.device_major, entry.device_minor, entry.inode, entry.path}].push_back(&entry);
  std::vector<MapEntry> named;
  std::size_t opened = 0;
  for (const auto& [key, mappings] : files) {
    const std::uint64_t first = mappings.front()->start.value, last = mappings.back()->end.value;
    const auto nearest = ending_at_or_after(moved, first);
    if (nearest == moved.end() || nearest->start.value > last || ++opened > kMostFiles) continue;
    const auto file = access.file_of(*mappings.front());
    if (!file) continue;
    const Comparison comparison(file->elf(), access);
    for (const CodePlace& place : code_places(file->elf(), *mappings.front()))
      for (auto at = ending_at_or_after(moved, place.start);
           at != moved.end() && at->start.value < place.end && named.size() < kMostNamed; ++at) {
        const MapEntry& entry = *at;
        const std::uint64_t start = std::max(entry.start.value, place.start),
                            end = std::min(entry.end.value, place.end);
        if (start >= end || !comparison.is_same(start, end, place)) continue;
        MapEntry code = *mappings.front();
        code.start = {start};
        code.end = {end};
        code.readable = entry.readable;
        code.writable = entry.writable;
        code.executable = true;
        code.shared = entry.shared;
        code.offset = {place.file_offset + (start - place.start)};
        named.push_back(std::move(code));
      }
  }
  for (MapEntry& code : named) {
    std::vector<MapEntry> rest;
    for (MapEntry& entry : maps) {
      if (entry.end <= code.start || code.end <= entry.start || !has_no_file(entry)) continue;
      if (code.end < entry.end) {
        rest.push_back(entry);
        rest.back().start = code.end;
      }
      if (entry.start < code.start) {
        rest.push_back(entry);
        rest.back().end = code.start;
      }
    }
    std::erase_if(maps, [&](const MapEntry& entry) {
      return entry.end > code.start && code.end > entry.start && has_no_file(entry);
    });
    maps.insert(maps.end(), rest.begin(), rest.end());
    maps.push_back(std::move(code));
  }
  std::ranges::sort(maps, {}, &MapEntry::start);
}

bool name_moved_text_within(std::vector<MapEntry>& maps, MovedTextAccess access, std::uint64_t most_ns) {
  auto work = Abandonable<std::vector<MapEntry>>::start([copy = maps, access = std::move(access)]() mutable {
    name_moved_text(copy, access);
    return std::move(copy);
  });
  if (!work) return true;  // others hang
  if (!work->wait_until(monotonic_ns() + most_ns)) return false;
  if (auto named = work->take()) maps = std::move(*named);
  return true;
}

void name_moved_text(std::int32_t pid, std::vector<MapEntry>& maps) {
  // Of one target that keeps a thread of ours no other one is begun: there are few, and others need them.
  static std::atomic<bool> given_up = false;
  if (given_up || std::ranges::none_of(maps, is_moved)) return;
  MovedTextAccess access;
  access.file_of = [pid](const MapEntry& mapping) -> Result<elf::ModuleFile> {
    Fd fd(::open(process::map_files_path(pid, mapping).c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd) return elf::ModuleFile::open(fmt::format("/proc/{}/root{}", pid, mapping.path));
    return elf::ModuleFile::of_fd(fd.get(), mapping.path);
  };
  access.read = [pid, memory = std::make_shared<Fd>()](std::uint64_t address, std::span<std::byte> into) {
    if (!*memory) *memory = Fd(::open(fmt::format("/proc/{}/mem", pid).c_str(), O_RDONLY | O_CLOEXEC));
    return *memory && ::pread(memory->get(), into.data(), into.size(), static_cast<off_t>(address)) ==
                          static_cast<ssize_t>(into.size());
  };
  if (!name_moved_text_within(maps, std::move(access), kMostNs)) given_up = true;
}

}  // namespace fathom::session
