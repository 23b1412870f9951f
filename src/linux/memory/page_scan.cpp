#include "linux/memory/page_scan.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <time.h>

#include <algorithm>
#include <cerrno>

#include "base/clock.h"
#include "base/files.h"

namespace fathom::sources {
namespace {

constexpr unsigned long kScanRequest = _IOWR('f', 16, PageScanArguments);
// The kernel gathers regions in a buffer of 512 and forgets to renew walk_end after the last of several (6.18): with a
// larger vector, who goes on at walk_end counts memory twice.
constexpr std::size_t kRegions = 512;
constexpr std::uint64_t kPagesPerCall = 8192;
constexpr std::uint64_t kPauseAfterNs = 100'000;
constexpr timespec kPauseTime{0, 20'000};
// Page tables that hold nothing resident take time, too, so the address space of a call has a limit that follows the
// time of the calls.
constexpr std::uint64_t kLeastSpan = std::uint64_t{64} << 20, kMostSpan = std::uint64_t{1} << 46;
constexpr std::uint64_t kShortCallNs = 50'000, kLongCallNs = 400'000;

}  // namespace

Result<PageScan> PageScan::open(std::int32_t pid) {
  const std::string path = fmt::format("/proc/{}/pagemap", pid);
  PageScan scan;
  scan.fd_ = Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!scan.fd_) return system_error(path, errno);
  scan.pause_ = [] { ::clock_nanosleep(CLOCK_MONOTONIC, 0, &kPauseTime, nullptr); };
  // An empty range asks whether the kernel knows the request at all.
  PageScanArguments nothing{};
  nothing.size = sizeof(nothing);
  nothing.any_of = nothing.returned = kPagePresent;
  if (::ioctl(scan.fd_.get(), kScanRequest, &nothing) < 0 && (errno == ENOTTY || errno == EINVAL))
    return fail(ErrorKind::kUnsupported, "this kernel has no PAGEMAP_SCAN (it came with Linux 6.7)");
  return scan;
}

void PageScan::pace(std::uint64_t took_ns, std::uint64_t pages) {
  ++calls_;
  longest_ns_ = std::max(longest_ns_, took_ns);
  if (took_ns < kShortCallNs) span_bytes_ = std::min(span_bytes_ * 2, kMostSpan);
  if (took_ns > kLongCallNs) span_bytes_ = std::max(span_bytes_ / 2, kLeastSpan);
  since_pause_ns_ += took_ns;
  since_pause_pages_ += pages;
  if (since_pause_ns_ < kPauseAfterNs && since_pause_pages_ < kPagesPerCall) return;
  since_pause_ns_ = since_pause_pages_ = 0;
  pause_();
}

Result<bool> PageScan::scan(std::uint64_t start, std::uint64_t end, bool ask_of_file, std::uint64_t until_ns,
                            const Take& take) {
  regions_.resize(kRegions);
  for (std::uint64_t at = start; at < end;) {
    const std::uint64_t begun = monotonic_ns();
    if (begun >= until_ns) return false;
    PageScanArguments arguments{};
    arguments.size = sizeof(arguments);
    arguments.start = at;
    arguments.end = end - at > span_bytes_ ? at + span_bytes_ : end;
    arguments.regions = reinterpret_cast<std::uint64_t>(regions_.data());
    arguments.region_count = kRegions;
    arguments.most_pages = kPagesPerCall;
    arguments.any_of = kPagePresent | kPageSwapped;
    arguments.returned =
        kPagePresent | kPageSwapped | kPageZero | kPageHuge | (ask_of_file ? kPageOfFile : std::uint64_t{0});
    const int found = call_ ? call_(arguments) : ::ioctl(fd_.get(), kScanRequest, &arguments);
    const int error = call_ ? -found : errno;
    if (found < 0 && error == EINTR) continue;
    if (found < 0) return system_error("scanning the pages of the process", error);
    const std::uint64_t took_ns = monotonic_ns() - begun;
    const auto count = std::min(static_cast<std::size_t>(found), kRegions);
    std::uint64_t pages = 0, last = at;
    for (std::size_t i = 0; i < count; ++i) {
      const PageRegion& region = regions_[i];
      if (region.start < last || region.end <= region.start || region.end > arguments.end)
        return fail(ErrorKind::kMalformed, "the kernel's regions of pages are not in order");
      last = region.end;
      pages += (region.end - region.start) / 4096;
      const bool present = (region.categories & kPagePresent) != 0;
      take({.start = region.start,
            .end = region.end,
            .resident = present && (region.categories & kPageZero) == 0,
            .swapped = (region.categories & kPageSwapped) != 0,
            .huge = (region.categories & kPageHuge) != 0,
            .of_file = (region.categories & kPageOfFile) != 0});
    }
    pace(took_ns, pages);
    // Only a full vector or enough pages end a call early; what walk_end says otherwise is of no use.
    const bool early = count == kRegions || pages >= kPagesPerCall;
    const std::uint64_t next = early ? std::max(arguments.walk_end, last) : arguments.end;
    if (next <= at) return fail(ErrorKind::kSystem, "the kernel's scan of pages does not get on");
    at = std::min(next, end);
  }
  return true;
}

}  // namespace fathom::sources
