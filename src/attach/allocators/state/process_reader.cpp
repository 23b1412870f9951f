#include "attach/allocators/state/process_reader.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "attach/allocators/state/glibc_state.h"
#include "attach/allocators/state/jemalloc_state.h"
#include "attach/allocators/state/process_map.h"
#include "base/abandonable.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/files.h"
#include "linux/memory/page_scan.h"

namespace fathom::allocators {
namespace {

// Without PAGEMAP_SCAN the kernel returns eight bytes per page of address space: fathom reads those of
// 64 GiB, the smallest mappings first, so that merely reserved memory does not use up the limit.
constexpr std::uint64_t kMostOfPagemap = std::uint64_t{64} << 30;
constexpr std::uint64_t kLongestNs = 10'000'000'000;

bool is_asked(const process::MapEntry& entry) {
  return !entry.shared && (entry.writable || (entry.inode == 0 && entry.path.empty())) &&
         entry.end.value <= kAddressLimit;
}

void read_pagemap(const Fd& fd, const process::MapEntry& entry, std::vector<AddressRange>& out) {
  constexpr std::uint64_t kPresent = std::uint64_t{1} << 63;
  std::vector<std::uint64_t> words(8192);
  for (std::uint64_t at = entry.start.value; at < entry.end.value;) {
    const std::size_t most = std::min<std::uint64_t>(words.size(), (entry.end.value - at) / kPageBytes);
    const ssize_t size = ::pread(fd.get(), words.data(), most * 8, static_cast<off_t>(at / kPageBytes * 8));
    if (size < 0 && errno == EINTR) continue;
    if (size < 8) return;
    for (ssize_t i = 0; i < size / 8; ++i, at += kPageBytes) {
      if ((words[static_cast<std::size_t>(i)] & kPresent) == 0) continue;
      if (!out.empty() && out.back().end == at)
        out.back().end += kPageBytes;
      else
        out.push_back({at, at + kPageBytes});
    }
  }
}

}  // namespace

bool ProcessReader::read(std::uint64_t address, std::span<std::byte> into) {
  iovec local{into.data(), into.size()};
  iovec remote{reinterpret_cast<void*>(address), into.size()};
  return ::process_vm_readv(pid_, &local, 1, &remote, 1, 0) == static_cast<ssize_t>(into.size());
}

Result<AddressRanges> read_present_pages(std::int32_t pid, const std::vector<process::MapEntry>& maps) {
  std::vector<AddressRange> runs;
  if (auto scan = sources::PageScan::open(pid)) {
    const std::uint64_t until = monotonic_ns() + kLongestNs;
    for (const process::MapEntry& entry : maps) {
      if (!is_asked(entry)) continue;
      const auto whole =
          scan->scan(entry.start.value, entry.end.value, false, until, [&](const sources::PageRun& run) {
            if (run.resident) runs.push_back({run.start, run.end});
          });
      if (!whole) return tl::unexpected<Error>(whole.error());
    }
    return AddressRanges(std::move(runs));
  } else if (scan.error().kind != ErrorKind::kUnsupported) {
    return tl::unexpected<Error>(scan.error());
  }
  const std::string path = fmt::format("/proc/{}/pagemap", pid);
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return system_error(path, errno);
  std::vector<const process::MapEntry*> asked;
  for (const process::MapEntry& entry : maps)
    if (is_asked(entry)) asked.push_back(&entry);
  std::sort(asked.begin(), asked.end(),
            [](const process::MapEntry* a, const process::MapEntry* b) { return a->size() < b->size(); });
  std::uint64_t bytes = 0;
  for (const process::MapEntry* entry : asked) {
    bytes += entry->size();
    if (bytes > kMostOfPagemap) break;
    read_pagemap(fd, *entry, runs);
  }
  return AddressRanges(std::move(runs));
}

AllocatorStates read_allocator_states(const std::vector<process::MapEntry>& maps,
                                      const AddressRanges& present, MemoryReader& reader,
                                      const ReadingLimits& limits) {
  const std::uint64_t begun = monotonic_ns();
  const ProcessMap map = make_process_map(maps);
  PresentMemory memory(reader, present, limits);
  AllocatorStates states;
  states.allocators = read_jemalloc(memory, map);
  if (auto glibc = read_glibc(memory, map)) states.allocators.push_back(std::move(*glibc));
  states.cut = memory.used_up();
  // These are recognized but cannot be read: no number is better than a wrong one.
  const bool knows_jemalloc = std::ranges::any_of(
      states.allocators, [](const AllocatorState& state) { return state.name == "jemalloc"; });
  std::string last;
  for (const process::MapEntry& entry : maps)
    for (const std::string_view name : {"mimalloc", "tcmalloc", "jemalloc"}) {
      if (name == "jemalloc" && knows_jemalloc) continue;
      const std::string file = entry.path.substr(entry.path.rfind('/') + 1);
      if (!entry.is_file() || entry.path == last || !file.starts_with(fmt::format("lib{}", name))) continue;
      last = entry.path;
      AllocatorState state;
      state.name = name;
      state.module = entry.path;
      state.reason = name == "jemalloc" ? "it was never used, or its records have an unknown version"
                                        : "its records are not read";
      states.allocators.push_back(std::move(state));
    }
  states.took_ns = monotonic_ns() - begun;
  return states;
}

namespace {

Result<AllocatorStates> read_now(std::int32_t pid) {
  const std::uint64_t begun = monotonic_ns();
  auto maps = process::read_maps(pid);
  if (!maps) return tl::unexpected<Error>(maps.error());
  auto present = read_present_pages(pid, *maps);
  if (!present) return tl::unexpected<Error>(present.error());
  const std::uint64_t pages_ns = monotonic_ns() - begun;
  ProcessReader reader(pid);
  AllocatorStates states = read_allocator_states(*maps, *present, reader,
                                                 ReadingLimits::of(*present, monotonic_ns() + kLongestNs));
  states.pages_ns = pages_ns;
  states.took_ns = monotonic_ns() - begun;
  return states;
}

}  // namespace

Result<AllocatorStates> read_allocator_states(std::int32_t pid) {
  constexpr std::uint64_t kHangsNs = 2 * kLongestNs + 5'000'000'000;
  auto work = Abandonable<Result<AllocatorStates>>::start([pid] { return read_now(pid); });
  if (work && work->wait_until(monotonic_ns() + kHangsNs))
    if (auto read = work->take()) return std::move(*read);
  return fail(ErrorKind::kSystem,
              fmt::format("the memory of process {} could not be read: a page did not arrive", pid));
}

}  // namespace fathom::allocators
