// What does it cost to read the composition of a process's memory, and how long does that delay the process?
// Compares fathom's page scan with smaps, smaps_rollup and pmap -x on one target: 1 GiB of anonymous memory,
// a sparse file of 4 GiB with a quarter resident, a memfd, and 4,000 small mappings; one of its threads maps
// and unmaps a page all the time, like an allocator. Each round measures every source, and no source, for the
// same time.
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/files.h"
#include "bench/support/rounds.h"
#include "bench/support/statistics.h"
#include "linux/memory/memory_map.h"
#include "linux/memory/memory_reading.h"

namespace fathom::bench {
namespace {

constexpr std::size_t kMiB = 1 << 20, kPage = 4096;
constexpr std::uint64_t kNever = 60'000'000'000;

// How long mmap and munmap of one page took, in microseconds; shared with the target.
struct Latencies {
  static constexpr std::size_t kMost = 1'000'000;
  std::atomic<bool> ready;
  std::atomic<std::uint32_t> counts[kMost];
};

void* map(std::size_t bytes, int flags, int fd = -1) {
  void* start = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
  if (start == MAP_FAILED) ::_exit(1);
  return start;
}
void touch(void* start, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; i += kPage) static_cast<volatile char*>(start)[i] = 1;
}

[[noreturn]] void live(Latencies& latencies, const std::string& file) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  void* anonymous = map(1024 * kMiB, MAP_PRIVATE | MAP_ANONYMOUS);
  ::madvise(anonymous, 1024 * kMiB, MADV_NOHUGEPAGE);
  touch(anonymous, 1024 * kMiB);
  const int database = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (database < 0 || ::ftruncate(database, 4096 * kMiB) != 0) ::_exit(1);
  char* mapped = static_cast<char*>(map(4096 * kMiB, MAP_SHARED, database));
  for (std::size_t at = 0; at < 4096 * kMiB; at += 256 * 1024) touch(mapped + at, 64 * 1024);
  const int memory = ::memfd_create("rings", MFD_CLOEXEC);
  if (::ftruncate(memory, 64 * kMiB) != 0) ::_exit(1);
  touch(map(64 * kMiB, MAP_SHARED, memory), 64 * kMiB);
  for (int i = 0; i < 4000; ++i) {
    void* small = map(2 * kPage, MAP_PRIVATE | MAP_ANONYMOUS);
    touch(small, kPage);
    ::mprotect(static_cast<char*>(small) + kPage, kPage, PROT_NONE);
  }
  latencies.ready = true;
  for (;;) {
    const std::uint64_t start = monotonic_ns();
    void* page = ::mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ::munmap(page, kPage);
    const std::uint64_t us = (monotonic_ns() - start) / 1000;
    latencies.counts[std::min<std::uint64_t>(us, Latencies::kMost - 1)].fetch_add(1,
                                                                                  std::memory_order_relaxed);
    ::usleep(50);
  }
}

// The smallest number of microseconds that this share of the calls did not exceed.
double percentile(const std::vector<std::uint32_t>& counts, double share) {
  std::uint64_t all = 0, seen = 0;
  for (const std::uint32_t count : counts) all += count;
  for (std::size_t us = 0; us < counts.size(); ++us) {
    seen += counts[us];
    if (seen > 0 && static_cast<double>(seen) >= share * static_cast<double>(all))
      return static_cast<double>(us);
  }
  return 0;
}

struct Source {
  std::string name;
  std::function<void(pid_t)> read;
};

void read_all(pid_t pid, const char* name) {
  (void)read_file(fmt::format("/proc/{}/{}", pid, name));
}

std::vector<Source> sources() {
  return {{"nothing", [](pid_t) { ::usleep(1000); }},
          {"fathom: page scan",
           [](pid_t pid) {
             if (!sources::read_mappings(pid, kNever)) std::exit(1);
           }},
          {"smaps_rollup", [](pid_t pid) { read_all(pid, "smaps_rollup"); }},
          {"smaps", [](pid_t pid) { read_all(pid, "smaps"); }},
          {"pmap -x", [](pid_t pid) {
             if (std::system(fmt::format("pmap -x {} > /dev/null", pid).c_str()) == 127) std::exit(1);
           }}};
}

int compare() {
  auto* latencies = static_cast<Latencies*>(
      ::mmap(nullptr, sizeof(Latencies), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  std::string folder = "/tmp/fathom-bench-XXXXXX";
  if (latencies == MAP_FAILED || ::mkdtemp(folder.data()) == nullptr) return 1;
  const std::string file = folder + "/database";
  const pid_t target = ::fork();
  if (target == 0) live(*latencies, file);
  while (!latencies->ready)
    if (::waitpid(target, nullptr, WNOHANG) == target) return 1;

  const std::vector<Source> all = sources();
  std::vector<std::vector<double>> took(all.size()), half(all.size()), most(all.size()), worst(all.size());
  const auto run = [&](int, std::size_t contender) {
    for (auto& count : latencies->counts) count.store(0, std::memory_order_relaxed);
    const std::uint64_t end = monotonic_ns() + static_cast<std::uint64_t>(seconds_per_run() * 1e9);
    while (monotonic_ns() < end) {
      const std::uint64_t start = monotonic_ns();
      all[contender].read(target);
      took[contender].push_back(static_cast<double>(monotonic_ns() - start) * 1e-6);
      ::usleep(20'000);
    }
    std::vector<std::uint32_t> counts(Latencies::kMost);
    for (std::size_t i = 0; i < counts.size(); ++i) counts[i] = latencies->counts[i].load();
    half[contender].push_back(percentile(counts, 0.5));
    most[contender].push_back(percentile(counts, 0.99));
    worst[contender].push_back(percentile(counts, 1));
  };
  run_rounds(rounds(), all.size(), run);
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < all.size(); ++i)
    rows.push_back({all[i].name, i == 0 ? "-" : median_and_range(took[i], 1),
                    i == 0 ? "-" : number(median(took[i]) / median(took[1]), 1), median_and_range(half[i], 0),
                    median_and_range(most[i], 0), median_and_range(worst[i], 0)});
  print_table({"source", "one reading, ms", "times fathom's", "mmap and munmap of the target: half, us",
               "99 of 100, us", "the longest, us"},
              rows);
  ::kill(target, SIGKILL);
  ::waitpid(target, nullptr, 0);
  ::unlink(file.c_str());
  ::rmdir(folder.c_str());
  return 0;
}

}  // namespace
}  // namespace fathom::bench

int main() {
  return fathom::bench::compare();
}
