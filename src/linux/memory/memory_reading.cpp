#include "linux/memory/memory_reading.h"

#include <fmt/format.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>

#include "base/clock.h"
#include "linux/memory/zeroed_data.h"
#include "linux/process/status.h"

namespace fathom::sources {
namespace {

// Above it is the kernel's memory; [vsyscall] is listed as a mapping of the process.
constexpr std::uint64_t kEndOfUser = std::uint64_t{1} << 56;

bool is_anonymous_huge_page(const process::MapEntry& entry) {
  return entry.path == "/anon_hugepage";
}

bool is_of_hugetlbfs(std::int32_t pid, const process::MapEntry& entry) {
  constexpr long kMagic = 0x958458f6;  // HUGETLBFS_MAGIC
  if (is_anonymous_huge_page(entry)) return true;
  if (entry.inode == 0) return false;
  struct statfs of {};
  return ::statfs(process::map_files_path(pid, entry).c_str(), &of) == 0 && of.f_type == kMagic;
}

// The mappings from `first` on that are asked in the same way.
std::size_t end_of_sweep(const std::vector<process::MapEntry>& entries, std::size_t first) {
  std::size_t last = first;
  while (last < entries.size() && entries[last].start.value < kEndOfUser &&
         PageSums::asks_of_file(entries[last]) == PageSums::asks_of_file(entries[first]))
    ++last;
  return last;
}

FileAnswers without_files(std::vector<process::MapEntry> entries) {
  FileAnswers answers;
  for (const process::MapEntry& entry : entries) answers.huge_files.push_back(is_anonymous_huge_page(entry));
  answers.entries = std::move(entries);
  return answers;
}

Result<MemoryReading> read_by_scan(PageScan scan, std::int32_t pid, std::uint64_t budget_ns,
                                   const AskFiles& ask) {
  MemoryReading reading;
  const std::uint64_t start = monotonic_ns();
  const auto status = process::read_status(pid);
  if (!status) return tl::unexpected<Error>(status.error());
  auto entries = process::read_maps(pid);
  if (!entries) return tl::unexpected<Error>(entries.error());
  if (entries->empty())
    return fail(ErrorKind::kNotFound, fmt::format("process {} has no memory any more", pid));
  const bool has_huge_files = status->huge_files != 0;
  auto answered = ask(pid, *entries, has_huge_files);
  const FileAnswers files = answered ? std::move(*answered) : without_files(std::move(*entries));

  PageSums sums(files.entries, files.huge_files);
  reading.whole = true;
  for (std::size_t first = 0; first < files.entries.size() && reading.whole;) {
    const std::size_t last = end_of_sweep(files.entries, first);
    if (last == first) break;
    const auto done = scan.scan(files.entries[first].start.value, files.entries[last - 1].end.value,
                                PageSums::asks_of_file(files.entries[first]), start + budget_ns,
                                [&](const PageRun& run) { sums.add(run); });
    if (!done) return tl::unexpected<Error>(done.error());
    reading.whole = *done;
    first = last;
  }
  sums.finish(status->swap, reading);
  for (MemoryMapping& mapping : reading.mappings)
    mapping.not_zeroed_data =
        std::binary_search(files.not_zeroed.begin(), files.not_zeroed.end(), mapping.entry.start.value);
  reading.longest_ns = scan.longest_ns();
  reading.took_ns = monotonic_ns() - start;
  return reading;
}

}  // namespace

bool PageSums::asks_of_file(const process::MapEntry& entry) {
  if (entry.shared) return false;
  if (entry.inode != 0) return true;
  const std::string_view path = entry.path;  // "[vdso]" and its like are pages of the kernel
  return path.starts_with('[') && path != "[heap]" && !path.starts_with("[stack") &&
         !path.starts_with("[anon:");
}

PageSums::PageSums(std::vector<process::MapEntry> entries, const std::vector<bool>& huge_files)
    : mappings_(entries.size()), huge_files_(huge_files) {
  huge_files_.resize(entries.size());
  for (std::size_t i = 0; i < entries.size(); ++i) mappings_[i].entry = std::move(entries[i]);
}

void PageSums::add(const PageRun& run) {
  std::uint64_t at = run.start;
  if (hint_ >= mappings_.size() || mappings_[hint_].entry.start.value > at) hint_ = 0;
  if (hint_ < mappings_.size() && mappings_[hint_].entry.end.value <= at)
    hint_ = static_cast<std::size_t>(
        std::upper_bound(mappings_.begin() + static_cast<std::ptrdiff_t>(hint_), mappings_.end(), at,
                         [](std::uint64_t address, const MemoryMapping& mapping) {
                           return address < mapping.entry.end.value;
                         }) -
        mappings_.begin());
  for (std::size_t i = hint_; i < mappings_.size() && at < run.end; ++i) {
    MemoryMapping& mapping = mappings_[i];
    const std::uint64_t from = std::max(at, mapping.entry.start.value),
                        to = std::min(run.end, mapping.entry.end.value);
    if (from >= run.end) break;
    if (run.resident) elsewhere_ += from - at;
    at = std::max(at, to);
    hint_ = i;
    if (to <= from) continue;
    const std::uint64_t bytes = to - from;
    if (run.swapped) mapping.swap += bytes;
    if (!run.resident) {
      if (!run.swapped) zero_bytes_ += bytes;
      continue;
    }
    if (huge_files_[i]) {
      mapping.huge_file += bytes;
      continue;
    }
    mapping.rss += bytes;
    const bool own = asks_of_file(mapping.entry) ? !run.of_file : !mapping.entry.shared;
    if (own) mapping.anonymous += bytes;
    // Huge pages of files are the page cache's business.
    if (run.huge && (own || mapping.entry.shared)) mapping.huge += bytes;
    if (!own) continue;
    if (run.huge && huge_runs_.size() < kMostRuns) {
      if (!huge_runs_.empty() && huge_runs_.back().second == from)
        huge_runs_.back().second = to;
      else
        huge_runs_.push_back({from, to});
    }
    if (!runs_.empty() && runs_.back().end == from)
      runs_.back().end = to;
    else if (runs_.size() < kMostRuns)
      runs_.push_back({from, to});
    else
      too_many_ = true;
  }
  if (run.resident && at < run.end) elsewhere_ += run.end - at;
}

void PageSums::finish(std::uint64_t swap_bytes, MemoryReading& reading) {
  reading.zero_bytes = zero_bytes_;
  reading.elsewhere = elsewhere_;
  std::sort(huge_runs_.begin(), huge_runs_.end());
  reading.huge_runs = std::move(huge_runs_);
  std::uint64_t swap_left = swap_bytes;
  for (MemoryMapping& mapping : mappings_) {
    mapping.swap = std::min(mapping.swap, swap_left);
    if (!mapping.entry.shared) swap_left -= mapping.swap;
  }
  if (!too_many_) {
    std::sort(runs_.begin(), runs_.end(), [](const Run& a, const Run& b) { return a.start < b.start; });
    for (const MemoryMapping& mapping : mappings_)
      if (mapping.anonymous != 0 || !mapping.entry.shared)
        reading.pages.add_range(mapping.entry.start.value, mapping.entry.end.value);
    for (const Run& run : runs_) reading.pages.add_run(run.start, run.end);
  }
  reading.mappings = std::move(mappings_);
}

bool has_page_scan() {
  static const bool has = [] {
    const auto scan = PageScan::open(::getpid());
    return scan || scan.error().kind != ErrorKind::kUnsupported;
  }();
  return has;
}

FileAnswers ask_files(std::int32_t pid, std::vector<process::MapEntry> entries, bool has_huge_files) {
  FileAnswers answers;
  answers.not_zeroed = split_zeroed_data(pid, entries);
  answers.huge_files.resize(entries.size());
  if (has_huge_files)
    for (std::size_t i = 0; i < entries.size(); ++i) answers.huge_files[i] = is_of_hugetlbfs(pid, entries[i]);
  answers.entries = std::move(entries);
  return answers;
}

Result<MemoryReading> read_mappings(std::int32_t pid, std::uint64_t budget_ns, bool by_smaps,
                                    const AskFiles& ask) {
  if (!by_smaps) {
    auto scan = PageScan::open(pid);
    if (scan) return read_by_scan(std::move(*scan), pid, budget_ns, ask);
    if (scan.error().kind != ErrorKind::kUnsupported) return tl::unexpected<Error>(scan.error());
  }
  auto smaps = read_smaps(pid, budget_ns);
  if (!smaps) return tl::unexpected<Error>(smaps.error());
  MemoryReading reading;
  reading.way = ReadingWay::kSmaps;
  reading.mappings = std::move(smaps->mappings);
  reading.whole = smaps->whole;
  reading.took_ns = smaps->took_ns;
  reading.longest_ns = smaps->longest_ns;
  return reading;
}

}  // namespace fathom::sources
