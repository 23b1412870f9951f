// A machine on which 500 short-lived processes and 1,000 short-lived threads start each second, for the
// requested time, with simulated events: neither memory nor the work per second may grow over time, and the
// file has all times and samples at the end.
//
// FATHOM_SIMULATED_MINUTES=600 runs ten hours and prints what they take.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <random>

#include "base/abi/walk.h"
#include "base/files.h"
#include "model/store/reader.h"
#include "model/store/writer.h"
#include "record/session/tracking/cpu_times.h"
#include "record/session/tracking/event_sink.h"
#include "record/session/tracking/testing_source.h"

namespace fathom::session {
namespace {

constexpr std::uint64_t kSecondNs = 1'000'000'000;
constexpr std::int32_t kServer = 300, kMake = 301;
constexpr std::uint32_t kProcessesPerSecond = 500, kThreadsPerSecond = 1000;

std::uint64_t resident_bytes() {
  const auto text = read_file("/proc/self/statm");
  unsigned long size = 0, resident = 0;
  if (!text || std::sscanf(text->c_str(), "%lu %lu", &size, &resident) != 2) return 0;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

class Machine {
 public:
  explicit Machine(const std::string& path, const RowLimits& limits = {},
                   std::size_t known_stacks = EventSink::kKnownStacks)
      : limits_(limits),
        known_stacks_(known_stacks),
        writer_(*store::Writer::create(path, {.overwrite = true})) {
    profile_.meta.start_ns = kSecondNs;
    profile_.meta.frequency_hz = 99;
    struct stat status {};
    char self[PATH_MAX] = {};
    if (::readlink("/proc/self/exe", self, sizeof(self) - 1) > 0 && ::stat(self, &status) == 0) {
      program_.path = self;
      program_.inode = status.st_ino;
    }
    program_.executable = program_.readable = true;
    for (const std::int32_t pid : {kServer, kMake}) {
      processes_.expect_exec(pid, kSecondNs);
      processes_.apply(sources::ProcessExeced{kSecondNs, pid, pid, pid == kServer ? "server" : "make"});
      map_program(pid, kSecondNs);
    }
    sink_.take(batch_);
  }

  void second() {
    now_ += kSecondNs;
    for (std::uint32_t i = 0; i < kProcessesPerSecond; ++i)
      live_a_process(now_ + i * std::uint64_t{1'000'000});
    for (std::uint32_t i = 0; i < kThreadsPerSecond; ++i)
      live_a_thread(kServer, "server", now_ + i * std::uint64_t{500'000});
    std::ranges::stable_sort(batch_.side_band, {}, [](const auto& event) { return sources::time_of(event); });
    sink_.take(batch_);
    for (const auto& ended : sink_.take_ended_threads()) cpu_times_.ended(ended);
    profile_.meta.end_ns = now_ + kSecondNs;
    rows_written_ = processes_.rows().changed().processes.size() + processes_.rows().changed().threads.size();
    ASSERT_TRUE(writer_.append(profile_, &processes_.rows().changed()));
    processes_.rows().written();
    profile_.samples.clear();
    profile_.waits.clear();
    sink_.forget_ended(now_);
    (void)symbols_.poll();
  }
  void finish() {
    processes_.rows().name_shared_rows();
    ASSERT_TRUE(writer_.finish(profile_, &processes_.rows().changed()));
  }

  std::size_t remembered() const {
    return processes_.remembered() + sink_.remembered() + source_.known.size() + profile_.modules.size();
  }
  const model::Profile& profile() const { return profile_; }
  std::size_t rows_written() const { return rows_written_; }
  std::uint64_t file_bytes() const { return writer_.bytes_written(); }
  std::uint64_t samples() const { return samples_; }
  std::uint64_t ran_ns() const { return ran_ns_; }
  std::uint64_t cpu_ns() const { return cpu_ns_; }
  RowBook::Shared shared() { return processes_.rows().shared(); }

 private:
  // As Linux gives them: the next one, and from the start again after the greatest.
  std::int32_t next_number() {
    if (++number_ > 32767) number_ = 1000;
    return number_;
  }
  void map_program(std::int32_t pid, std::uint64_t time_ns) {
    sources::MemoryMapped event;
    event.time_ns = time_ns;
    event.pid = event.tid = pid;
    event.mapping = program_;
    event.mapping.start = ProcessAddress{base_of(pid)};
    event.mapping.end = ProcessAddress{base_of(pid) + 0x100000};
    batch_.side_band.emplace_back(event);
  }
  // Elsewhere in each process.
  static std::uint64_t base_of(std::int32_t pid) {
    return 0x550000000000 + static_cast<std::uint64_t>(pid) * 0x200000;
  }

  void live_a_process(std::uint64_t at) {
    constexpr const char* kNames[] = {"cc1plus", "as", "ld", "sh"};
    const std::int32_t pid = next_number();
    batch_.side_band.emplace_back(sources::ProcessForked{at, pid, kMake});
    batch_.side_band.emplace_back(sources::ProcessExeced{at + 1000, pid, pid, kNames[random_() % 4]});
    map_program(pid, at + 2000);
    run(pid, pid, at + 3000, base_of(pid));
  }
  void live_a_thread(std::int32_t pid, const char* name, std::uint64_t at) {
    const std::int32_t tid = next_number();
    batch_.side_band.emplace_back(sources::ThreadStarted{at, pid, tid});
    batch_.side_band.emplace_back(sources::ThreadNamed{at + 1000, pid, tid, name});
    run(pid, tid, at + 3000, base_of(pid));
  }
  // What a thread does in its life: it runs for a while, is sampled, waits for a lock that a stranger holds,
  // and ends.
  void run(std::int32_t pid, std::int32_t tid, std::uint64_t at, std::uint64_t base) {
    sources::StackSeen seen;
    seen.time_ns = at;
    seen.stack_id = ++stack_;
    seen.pid = pid;
    // The outermost one lies in no mapping, and nowhere twice.
    seen.user = {(base + 0x1000 + random_() % 64 * 16) | WALK_EXACT, base + 0x2000,
                 0x7f0000000000 + random_()};
    if (pid == kServer) seen.user.pop_back();
    seen.end = WALK_ROOT;
    batch_.samples.emplace_back(seen);
    sources::StackSample sample;
    sample.time_ns = at;
    sample.pid = pid;
    sample.tid = tid;
    sample.stack_id = seen.stack_id;
    batch_.samples.emplace_back(sample);
    ++samples_;
    sources::Waited wait;
    wait.out_ns = at + 1000;
    wait.waited_ns = 100'000;
    wait.pid = pid;
    wait.tid = tid;
    wait.stack_id = seen.stack_id;
    wait.state = 1;
    wait.system_call = 202;  // futex
    wait.arguments[0] = base + random_() % 1000;
    if (random_() % 10 == 0)
      wait.waker_pid = wait.waker_tid = 5'000'000 + static_cast<std::int32_t>(random_() % 1'000'000);
    batch_.samples.emplace_back(wait);
    sources::ThreadWaitTime times;
    times.time_ns = at + 200'000;
    times.pid = pid;
    times.tid = tid;
    times.ran_ns = 90'000 + random_() % 1000;
    times.waited_ns = 100'000;
    times.waits = 1;
    batch_.samples.emplace_back(times);
    batch_.samples.emplace_back(sources::ThreadCpuTime{at + 200'000, pid, tid, times.ran_ns});
    ran_ns_ += times.ran_ns;
    cpu_ns_ += times.ran_ns;
    batch_.side_band.emplace_back(sources::ThreadEnded{at + 200'001, pid, tid});
  }

  RowLimits limits_;
  std::size_t known_stacks_;
  model::Profile profile_;
  model::Builder builder_{profile_};
  symbolize::Worker symbols_{symbolize::Options{}};
  SilentSource source_;
  ModuleCatalog modules_{builder_, symbols_, {}};
  ProcessTable processes_{profile_, modules_, source_, true, limits_};
  StackResolver stacks_{profile_, builder_, processes_, modules_, symbols_, 4'000'000};
  EventSink sink_{profile_, processes_, stacks_, known_stacks_};
  CpuTimes cpu_times_{processes_};
  store::Writer writer_;
  Batch batch_;
  process::MapEntry program_;
  std::minstd_rand random_{1};
  std::uint64_t now_ = 2 * kSecondNs, stack_ = 0;
  std::int32_t number_ = 1000;
  std::size_t rows_written_ = 0;
  std::uint64_t samples_ = 0, ran_ns_ = 0, cpu_ns_ = 0;
};

struct ShortLives : testing::Test {
  void SetUp() override { path = testing::TempDir() + fmt::format("short_lives_{}.fathom", ::getpid()); }
  void TearDown() override { ::unlink(path.c_str()); }
  std::string path;
};

TEST_F(ShortLives, NeitherMemoryNorASecondsWorkGrowsWithWhatHasBeen) {
  const char* text = std::getenv("FATHOM_SIMULATED_MINUTES");
  const int minutes = text != nullptr ? std::atoi(text) : 4;
  // Two tables of the stacks that were met last would be full after 333 s; a tenth of them is full after 34 s.
  auto machine = std::make_unique<Machine>(
      path, RowLimits{}, text != nullptr ? EventSink::kKnownStacks : EventSink::kKnownStacks / 10);
  // By then each program and each name of threads has had its rows, and every table of what was lately is
  // full.
  const int settled_after = minutes / 2;
  std::size_t remembered = 0, most_remembered = 0, rows_written = 0, threads = 0, stacks = 0, objects = 0,
              strings = 0;
  std::uint64_t file_bytes = 0;
  for (int minute = 1; minute <= minutes; ++minute) {
    for (int i = 0; i < 60; ++i) {
      ASSERT_NO_FATAL_FAILURE(machine->second());
      most_remembered = std::max(most_remembered, machine->remembered());
    }
    const model::Profile& profile = machine->profile();
    if (minute % 60 == 0 && text != nullptr)
      fmt::print("{:3} h: {} MB resident, {} remembered, {} process and {} thread rows, {:.1f} MB of file\n",
                 minute / 60, resident_bytes() >> 20, machine->remembered(), profile.processes.size(),
                 profile.threads.size(), static_cast<double>(machine->file_bytes()) / 1e6);
    if (minute != settled_after) continue;
    remembered = std::exchange(most_remembered, 0);
    rows_written = machine->rows_written();
    threads = profile.threads.size();
    stacks = profile.stacks.size();
    objects = profile.objects.size();
    strings = profile.strings.size();
    file_bytes = machine->file_bytes();
  }
  const model::Profile& profile = machine->profile();
  EXPECT_LE(most_remembered, remembered + remembered / 10);
  EXPECT_LE(machine->rows_written(), rows_written + 20);
  EXPECT_LE(machine->rows_written(), 500u);
  EXPECT_LE(profile.threads.size(), threads + 20);
  EXPECT_LE(profile.stacks.size(), stacks + 20);
  EXPECT_LE(profile.objects.size(), objects + 20);
  EXPECT_LE(profile.strings.size(), strings + 100);
  const double minutes_before = settled_after, minutes_after = minutes - settled_after;
  EXPECT_LE(static_cast<double>(machine->file_bytes() - file_bytes) / minutes_after,
            1.1 * static_cast<double>(file_bytes) / minutes_before);
  const std::uint64_t lives =
      static_cast<std::uint64_t>(minutes) * 60 * (kProcessesPerSecond + kThreadsPerSecond);
  EXPECT_GT(machine->shared().processes + machine->shared().threads, lives * 9 / 10);
}

// What the limits are for.
TEST_F(ShortLives, WithoutLimitsThereIsARowForEach) {
  constexpr std::size_t kAny = std::size_t{1} << 32;
  auto machine = std::make_unique<Machine>(path, RowLimits{.own_processes = kAny,
                                                           .own_threads = kAny,
                                                           .long_life_ns = UINT64_MAX,
                                                           .many_events = UINT64_MAX,
                                                           .most_processes = kAny,
                                                           .most_threads = kAny});
  for (int i = 0; i < 5; ++i) ASSERT_NO_FATAL_FAILURE(machine->second());
  EXPECT_GE(machine->profile().processes.size(), 5 * kProcessesPerSecond);
  EXPECT_GE(machine->profile().threads.size(), 5 * (kProcessesPerSecond + kThreadsPerSecond));
  EXPECT_GE(machine->rows_written(), kProcessesPerSecond + kThreadsPerSecond);
}

TEST_F(ShortLives, AllThatTheyDidIsInTheFile) {
  auto machine = std::make_unique<Machine>(path);
  for (int i = 0; i < 20; ++i) ASSERT_NO_FATAL_FAILURE(machine->second());
  ASSERT_NO_FATAL_FAILURE(machine->finish());
  const auto read_back = store::read(path);
  ASSERT_TRUE(read_back) << read_back.error().message;
  EXPECT_EQ(read_back->samples.size(), machine->samples());
  EXPECT_EQ(read_back->quality.samples, machine->samples());
  EXPECT_EQ(read_back->waits.size(), machine->samples());
  std::uint64_t ran_ns = 0, cpu_ns = 0, waits = 0;
  for (const model::Thread& thread : read_back->threads) {
    ran_ns += thread.ran_ns;
    cpu_ns += thread.cpu_ns;
    waits += thread.waits;
  }
  EXPECT_EQ(ran_ns, machine->ran_ns());
  EXPECT_EQ(cpu_ns, machine->cpu_ns());
  EXPECT_EQ(waits, machine->samples());
  bool has_shared_name = false;
  for (const model::Process& process : read_back->processes) {
    const std::string_view name = read_back->strings[process.name];
    has_shared_name = has_shared_name || (name.starts_with("cc1plus (2,") && name.ends_with(" processes)"));
  }
  EXPECT_TRUE(has_shared_name);
}

}  // namespace
}  // namespace fathom::session
