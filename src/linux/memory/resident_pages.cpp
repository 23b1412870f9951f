#include "linux/memory/resident_pages.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/files.h"

namespace fathom::sources {

Result<ResidentPages> ResidentPages::open(std::int32_t pid) {
  const std::string path = fmt::format("/proc/{}/pagemap", pid);
  ResidentPages pages;
  pages.fd_ = Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!pages.fd_) return system_error(path, errno);
  return pages;
}

bool ResidentPages::read(std::uint64_t start, std::uint64_t end) {
  constexpr std::uint64_t kPresent = std::uint64_t{1} << 63;
  std::array<std::uint64_t, 8192> entries;
  std::vector<bool> resident;
  for (std::uint64_t at = start / kPage; at < end / kPage;) {
    const std::uint64_t most = std::min<std::uint64_t>(entries.size(), end / kPage - at);
    const ssize_t size =
        ::pread(fd_.get(), entries.data(), most * sizeof(entries[0]), static_cast<off_t>(at * 8));
    if (size < 0 && errno == EINTR) continue;
    if (size < static_cast<ssize_t>(sizeof(entries[0]))) return false;
    const auto count = static_cast<std::size_t>(size) / sizeof(entries[0]);
    for (std::size_t i = 0; i < count; ++i) resident.push_back((entries[i] & kPresent) != 0);
    at += count;
  }
  add(start, resident);
  return true;
}

void ResidentPages::add(std::uint64_t start, const std::vector<bool>& resident) {
  add_range(start, start + resident.size() * kPage);
  for (std::size_t i = 0; i < resident.size(); ++i)
    if (resident[i]) add_run(start + i * kPage, start + (i + 1) * kPage);
}

void ResidentPages::add_range(std::uint64_t start, std::uint64_t end) {
  pages_ += (end - start) / kPage;
  if (!ranges_.empty() && ranges_.back().end == start)
    ranges_.back().end = end;
  else
    ranges_.push_back({start, end});
}

void ResidentPages::add_run(std::uint64_t start, std::uint64_t end) {
  if (!runs_.empty() && runs_.back().end == start) {
    runs_.back().end = end;
    return;
  }
  const std::uint64_t before =
      runs_.empty() ? 0 : runs_.back().before + (runs_.back().end - runs_.back().start);
  runs_.push_back({start, end, before});
}

const ResidentPages::Range* ResidentPages::find(std::uint64_t address) const {
  const auto after =
      std::upper_bound(ranges_.begin(), ranges_.end(), address,
                       [](std::uint64_t value, const Range& range) { return value < range.start; });
  if (after == ranges_.begin() || std::prev(after)->end <= address) return nullptr;
  return &*std::prev(after);
}

std::uint64_t ResidentPages::resident_below(std::uint64_t address) const {
  const auto after = std::upper_bound(runs_.begin(), runs_.end(), address,
                                      [](std::uint64_t value, const Run& run) { return value < run.start; });
  if (after == runs_.begin()) return 0;
  const Run& run = *std::prev(after);
  return run.before + std::min(address, run.end) - run.start;
}

std::uint64_t ResidentPages::resident(std::uint64_t start, std::uint64_t size) const {
  const Range* range = find(start);
  if (range == nullptr) return 0;
  const std::uint64_t end = size < range->end - start ? start + size : range->end;
  return resident_below(end) - resident_below(start);
}

}  // namespace fathom::sources
