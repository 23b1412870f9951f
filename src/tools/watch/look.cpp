#include "tools/watch/look.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/abandonable.h"
#include "base/clock.h"
#include "base/files.h"
#include "base/stable_sort.h"
#include "linux/memory/counted_limits.h"
#include "linux/memory/memory_reading.h"
#include "linux/process/cgroup.h"
#include "linux/process/status.h"
#include "record/session/memory/held_memory.h"
#include "record/session/memory/memory_composition.h"
#include "record/session/memory/memory_snapshots.h"
#include "tools/watch/held.h"

namespace fathom::watch {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kBudgetNs = 60 * kSecond;
// A composition is paid for with so much time without any: half a per cent of a CPU, and two while it grows.
constexpr std::uint64_t kShare = 200, kShareGrown = 50;
constexpr std::string_view kNoThread = "earlier readings hang, which is the limit";

Result<std::string> read_again(const Fd& fd, const std::string& what) {
  constexpr std::size_t kMost = 16 * 1024;
  std::string text(kMost, '\0');
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t n = ::pread(fd.get(), text.data() + done, text.size() - done, static_cast<off_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return system_error(what, errno);
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
  }
  text.resize(done);
  return text;
}

}  // namespace

std::string_view to_string(Way way) {
  switch (way) {
    case Way::kPageScan:
      return "pagemap_scan";
    case Way::kSmaps:
      return "smaps";
    case Way::kStatus:
      break;
  }
  return "status";
}

analysis::MemoryLines lines_of_status(const Figures& figures) {
  analysis::MemoryLines made;
  made.rss_bytes = figures.rss;
  made.huge_file_bytes = figures.huge_files;
  const auto add = [&](std::string_view kind, std::string name, std::uint64_t bytes, std::uint64_t swap,
                       bool reclaimable) {
    if (bytes == 0 && swap == 0) return;
    analysis::MemoryLine line;
    line.kind = kind;
    line.name = std::move(name);
    line.bytes = bytes;
    line.swap_bytes = swap;
    line.reclaimable = reclaimable;
    made.lines.push_back(std::move(line));
  };
  add("not-split", "anonymous, not split", figures.anonymous, figures.swap, false);
  add("file", "files", figures.file, 0, true);
  add("shared-anonymous", "shared memory", figures.shared, 0, false);
  stable_sort_rows(made.lines.begin(), made.lines.end(),
                   [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  made.unexplained_bytes =
      static_cast<std::int64_t>(figures.rss - figures.anonymous - figures.file - figures.shared);
  return made;
}

Result<Watched> Watched::open(std::int32_t pid, WaysToRead ways) {
  auto process = process::read_process(pid);
  if (!process && process.error().kind == ErrorKind::kNotFound)
    return fail(ErrorKind::kNotFound, fmt::format("there is no process {}", pid),
                "ps -e lists them; fathom watch NAME finds one by name");
  if (!process) return tl::unexpected<Error>(process.error());
  Watched watched;
  watched.process_ = std::move(*process);
  watched.ways_ = std::move(ways);
  const auto file = [&](const char* name) {
    return Fd(::open(fmt::format("/proc/{}/{}", pid, name).c_str(), O_RDONLY | O_CLOEXEC));
  };
  watched.status_ = file("status");
  if (!watched.status_) return system_error(fmt::format("/proc/{}/status", pid), errno);
  watched.stat_ = file("stat");
  if (!watched.stat_) return system_error(fmt::format("/proc/{}/stat", pid), errno);
  // A group has pressure of its own in version 2 only, also where its memory is accounted for by version 1.
  if (const auto memberships = process::read_cgroup(pid)) {
    if (const auto mountinfo = read_file("/proc/self/mountinfo"))
      if (const auto folder =
              process::cgroup_directory(*memberships, process::parse_cgroup_mounts(*mountinfo), "");
          // The root of all groups is the machine; only it has no type.
          folder && ::access((*folder + "/cgroup.type").c_str(), F_OK) == 0)
        watched.pressure_ = Fd(::open((*folder + "/memory.pressure").c_str(), O_RDONLY | O_CLOEXEC));
  }
  watched.pressure_of_group_ = static_cast<bool>(watched.pressure_);
  if (!watched.pressure_) watched.pressure_ = Fd(::open("/proc/pressure/memory", O_RDONLY | O_CLOEXEC));
  if (!watched.pressure_) watched.miss("pressure: this kernel does not report it (CONFIG_PSI, psi=1)");
  return watched;
}

void Watched::miss(std::string what) {
  if (std::find(missing_.begin(), missing_.end(), what) == missing_.end())
    missing_.push_back(std::move(what));
}

Result<Figures> Watched::read_figures() {
  const auto gone = [&] {
    return fail(ErrorKind::kNotFound, fmt::format("process {} has ended", process_.pid));
  };
  auto text = read_again(status_, "reading status");
  if (!text) return tl::unexpected<Error>(text.error());
  const auto status = process::parse_status(*text);
  if (!status) return tl::unexpected<Error>(status.error());
  text = read_again(stat_, "reading stat");
  if (!text) return tl::unexpected<Error>(text.error());
  const auto stat = process::parse_stat(*text);
  if (!stat) return tl::unexpected<Error>(stat.error());
  if (stat->state == 'Z' || stat->state == 'X') return gone();
  Figures figures;
  figures.anonymous = status->rss_anon;
  figures.file = status->rss_file;
  figures.shared = status->rss_shmem;
  figures.rss = figures.anonymous + figures.file + figures.shared;
  figures.swap = status->swap;
  figures.page_tables = status->page_tables;
  figures.rss_peak = std::max(status->rss_peak, figures.rss);
  figures.virtual_size = status->virtual_size;
  figures.huge_files = status->huge_files;
  figures.minor_faults = stat->minor_faults;
  figures.major_faults = stat->major_faults;
  const std::uint64_t tick_ns = kSecond / process::ticks_per_second();
  figures.user_cpu_ns = stat->user_ticks * tick_ns;
  figures.system_cpu_ns = stat->system_ticks * tick_ns;
  figures.threads = status->threads;
  return figures;
}

allocators::AllocatorStates Watched::read_held(const sources::MemoryReading& reading) {
  // smaps reports how many pages are in memory, not which: reading others would map them.
  if (reading.way != sources::ReadingWay::kPageScan) return {};
  std::vector<process::MapEntry> maps;
  maps.reserve(reading.mappings.size());
  for (const sources::MemoryMapping& mapping : reading.mappings) maps.push_back(mapping.entry);
  if (held_hangs_) return {};
  auto read = session::read_held_in_time(process_.pid, std::move(maps), session::present_of(reading.pages),
                                         ways_.records);
  if (read.hangs) {
    held_hangs_ = true;
    miss("allocator contents: a page of their records did not arrive, and fathom does not try again");
  }
  if (!read.states) {
    if (!read.hangs) miss(fmt::format("what its allocators hold: {}", kNoThread));
    return {};
  }
  allocators::AllocatorStates states = std::move(*read.states);
  if (states.cut) miss(fmt::format("what its allocators hold: {}", allocators::kTooMuch));
  for (std::size_t i = 0; i < states.allocators.size(); ++i) {
    const allocators::AllocatorState& state = states.allocators[i];
    // A program with another allocator does not use libc's.
    if (state.certainty == allocators::Certainty::kUnknown && state.name != "glibc")
      miss(fmt::format("what {} holds: {}", session::held_label(states, i), state.reason));
  }
  return states;
}

std::vector<sources::CachedFile> Watched::read_files(std::span<const sources::MemoryMapping> mappings) {
  constexpr std::size_t kMostFiles = 64;
  constexpr std::uint64_t kFilesNs = kSecond / 5;
  auto asked = sources::files_worth_asking(mappings, kMostFiles);
  if (files_hang_ || asked.empty()) return {};
  // A file system may be the target's own and not answer.
  auto work =
      Abandonable<std::vector<sources::CachedFile>>::start([pid = process_.pid, asked = std::move(asked)] {
        return sources::join_tables(sources::read_page_cache(pid, asked, monotonic_ns() + kFilesNs));
      });
  if (!work) {
    miss(fmt::format("what the page cache holds of its files: {}", kNoThread));
    return {};
  }
  if (work->wait_until(monotonic_ns() + 10 * kFilesNs))
    return work->take().value_or(std::vector<sources::CachedFile>{});
  files_hang_ = true;
  miss("what the page cache holds of its files: one of them does not answer");
  return {};
}

// Adds to `beside_ns` what a thread of its own took for the files.
Result<sources::MemoryReading> Watched::read_mappings(bool by_smaps, std::uint64_t& beside_ns) {
  const auto ask = [&](std::int32_t pid, const std::vector<process::MapEntry>& entries,
                       bool has_huge_files) -> std::optional<sources::FileAnswers> {
    if (files_hang_) return std::nullopt;
    const std::uint64_t begun = monotonic_ns();
    auto work = Abandonable<std::optional<sources::FileAnswers>>::start(
        [pid, entries, has_huge_files, files = ways_.files] { return files(pid, entries, has_huge_files); });
    if (!work) {
      miss(fmt::format("where the zeroed data of its files ends: {}", kNoThread));
      return std::nullopt;
    }
    if (!work->wait_until(begun + session::kFilesHangNs)) {
      files_hang_ = true;
      miss(
          "the end of the zeroed data of its files: one file does not respond, and fathom does not try again");
      return std::nullopt;
    }
    beside_ns += monotonic_ns() - begun;
    return work->take().value_or(std::nullopt);
  };
  return sources::read_mappings(process_.pid, kBudgetNs, by_smaps, ask);
}

// The process goes on under its number with another program, and a thread may give it another name at any time.
void Watched::follow_exec() {
  const auto now = process::read_process(process_.pid);
  if (!now || now->start_ticks != process_.start_ticks) return;
  if (now->executable != process_.executable) {
    composition_ = nullptr;
    due_ns_ = grown_due_ns_ = 0;
    held_hangs_ = files_hang_ = false;
  }
  process_ = *now;
}

Composition Watched::compose(const Figures& before) {
  Composition made;
  made.time_ns = monotonic_ns();
  const std::uint64_t cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
  Figures figures = before;
  std::uint64_t beside_ns = 0;
  const bool scan = sources::has_page_scan();
  // smaps holds the process up for as long as it takes, so it is for one look.
  const bool may_read = scan || composition_ == nullptr;
  auto reading = may_read ? read_mappings(!scan, beside_ns)
                          : Result<sources::MemoryReading>(fail(ErrorKind::kUnsupported, ""));
  if (!scan)
    miss(
        "memory parts over time: this kernel has no PAGEMAP_SCAN (Linux 6.7), so fathom read smaps once, because it delays the process");
  if (!reading && reading.error().kind == ErrorKind::kPermission)
    miss(
        "memory parts: only root can read the pages of this process, or its user if the process has no extra privileges");
  if (!reading || !reading->whole) {
    if (reading) miss("memory parts: reading its pages takes more than a minute");
    made.lines = lines_of_status(figures);
    // A failed read costs as much.
    made.took_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu + beside_ns;
    return made;
  }
  made.way = scan ? Way::kPageScan : Way::kSmaps;
  made.zero_bytes = reading->zero_bytes;
  made.longest_call_ns = reading->longest_ns;
  const auto after = read_figures();
  if (after) figures = *after;
  made.moved = figures.rss != before.rss;
  const auto stacks = sources::read_stack_pointers(process_.pid);
  model::Profile names;
  model::Builder builder(names);
  names.processes.emplace_back().pid = process_.pid;
  const auto held = read_held(*reading);
  const allocators::AddressRanges huge = session::huge_pages_of(*reading);
  const std::uint64_t files_begun = monotonic_ns();
  made.files = read_files(reading->mappings);
  // Threads of their own read these two.
  beside_ns += held.took_ns + (made.files.empty() ? 0 : monotonic_ns() - files_begun);
  session::MemoryComposition composition(sources::judge_mappings(std::move(reading->mappings), stacks), {},
                                         {});
  if (reading->way == sources::ReadingWay::kPageScan) composition.set_pages(std::move(reading->pages));
  add_held(held, huge, composition, names, builder);
  const auto rows = composition.rows(made.time_ns, model::ProcessId{0}, model::HeapAllocatorId{}, builder);
  made.lines = analysis::make_memory_lines(rows, names, figures.rss);
  if (made.time_ns >= sharing_due_ns_) {
    const std::uint64_t begun = monotonic_ns();
    sharing_ = sources::read_smaps_rollup(process_.pid);
    sharing_due_ns_ = made.time_ns + 10 * kSecond;
    made.longest_call_ns = std::max(made.longest_call_ns, monotonic_ns() - begun);
  }
  made.sharing = sharing_;
  divide_live(held, made.lines);
  made.took_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu + beside_ns;
  return made;
}

Result<Look> Watched::look(bool compose_now) {
  Look look;
  look.time_ns = monotonic_ns();
  look.wall_ns = wall_clock_ns();
  const auto figures = read_figures();
  if (!figures) return tl::unexpected<Error>(figures.error());
  look.figures = *figures;
  if (limits_ns_ == 0 || look.time_ns >= limits_ns_ + kSecond) follow_exec();
  const bool grown =
      composition_ != nullptr && session::has_grown(composition_->lines.rss_bytes, look.figures.rss);
  if (compose_now || composition_ == nullptr || look.time_ns >= due_ns_ ||
      (grown && look.time_ns >= grown_due_ns_)) {
    auto made = compose(look.figures);
    due_ns_ = look.time_ns + made.took_ns * kShare;
    grown_due_ns_ = look.time_ns + made.took_ns * kShareGrown;
    // On an older kernel the one reading stays, with its time.
    if (composition_ == nullptr || made.way != Way::kStatus || composition_->way == Way::kStatus)
      composition_ = std::make_shared<const Composition>(std::move(made));
  }
  look.composition = composition_;
  // A dozen files, found through the mounts: more than all the rest together, and slow to change.
  if (limits_ns_ == 0 || look.time_ns >= limits_ns_ + kSecond) {
    limits_ = sources::read_limits(process_.pid, look.figures.virtual_size);
    limits_ns_ = look.time_ns;
  }
  look.limits = limits_;
  if (look.time_ns >= counted_due_ns_) {
    counted_ = sources::read_counted_limits(process_.pid);
    children_ = process::count_children(process_.pid);
    counted_due_ns_ = look.time_ns + std::max(kSecond, (monotonic_ns() - look.time_ns) * kShare);
  }
  look.counted = counted_;
  look.children = children_;
  look.descriptors = process::count_descriptors(process_.pid);
  if (pressure_) {
    if (const auto text = read_again(pressure_, "reading pressure"))
      look.pressure = sources::parse_pressure(*text);
    look.pressure_of_group = pressure_of_group_;
  }
  return look;
}

Result<std::vector<WatchedMapping>> Watched::mappings() {
  const auto figures = read_figures();
  if (!figures) return tl::unexpected<Error>(figures.error());
  const bool scan = sources::has_page_scan();
  std::uint64_t beside_ns = 0;
  auto reading = read_mappings(!scan, beside_ns);
  if (!reading) return tl::unexpected<Error>(reading.error());
  const auto held = read_held(*reading);
  std::vector<WatchedMapping> mappings;
  std::vector<sources::MemoryMapping> smaps;
  if (!scan) {
    smaps = reading->mappings;
  } else if (figures->rss <= sources::kMostResidentForRollup) {
    if (auto read = sources::read_smaps(process_.pid, kBudgetNs)) smaps = std::move(read->mappings);
  }
  for (sources::JudgedMapping& judged :
       sources::judge_mappings(std::move(reading->mappings), sources::read_stack_pointers(process_.pid)))
    mappings.emplace_back().judged = std::move(judged);
  name_allocators(held, reading->pages, mappings);
  add_sharing(smaps, mappings);
  return mappings;
}

}  // namespace fathom::watch
