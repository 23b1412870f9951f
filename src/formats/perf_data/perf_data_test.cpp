#include "formats/perf_data/perf_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <link.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/abi/walk.h"
#include "binary/elf/module_file.h"
#include "formats/import/import_testing.h"
#include "formats/perf_data/testing_perf_data.h"

namespace fathom::formats {
namespace {

using model::Metric;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace testing;

constexpr std::uint64_t kCode = 0x400000;

std::vector<perf_event_attr> clock_with_chains() {
  return {attributes(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, PERF_SAMPLE_CALLCHAIN)};
}
// A thread with a call of 0x100 by what returns to 0x201, twice in user mode and once in the kernel; another without a call.
std::string two_threads() {
  return comm(7, 7, "server") + comm(7, 8, "worker") + mapped(7, kCode, 0x10000, 0, "/no/such/server") +
         sample({.ip = kCode + 0x100, .chain = {PERF_CONTEXT_USER, kCode + 0x100, kCode + 0x201}}) +
         sample({.ip = 0xffffffff81000000,
                 .time_ns = 1'010'000'000,
                 .chain = {PERF_CONTEXT_KERNEL, 0xffffffff81000000, 0xffffffff81000123, PERF_CONTEXT_USER,
                           kCode + 0x100, kCode + 0x201},
                 .misc = PERF_RECORD_MISC_KERNEL}) +
         sample({.ip = kCode + 0x300,
                 .tid = 8,
                 .time_ns = 1'020'000'000,
                 .chain = {PERF_CONTEXT_USER, kCode + 0x300}});
}
model::Profile read(const std::string& bytes) {
  EXPECT_TRUE(is_perf_data(bytes));
  Result<model::Profile> profile = read_perf_data(bytes, "perf.data");
  EXPECT_TRUE(profile) << profile.error().message;
  return profile ? std::move(*profile) : model::Profile();
}

TEST(PerfData, CallChainsBecomeStacksOfPlacesInFiles) {
  const model::Profile profile = read(perf_file(clock_with_chains(), two_threads()));
  EXPECT_THAT(stacks_of(profile), ElementsAre("server;[server+0x200];[server+0x100] 10000000",
                                              "server;[server+0x200];[server+0x100];[kernel] 10000000",
                                              "worker;[server+0x300] 10000000"));
  EXPECT_EQ(analysis::unit_of(profile, Metric::kCpu), "ns");
  EXPECT_EQ(profile.meta.event, "cpu-clock");
  EXPECT_EQ(profile.meta.frequency_hz, 99u);
  EXPECT_EQ(profile.meta.end_ns - profile.meta.start_ns, 20'000'000u);
  EXPECT_EQ(profile.strings[profile.processes[0].executable], "/no/such/server");
  EXPECT_THAT(profile.quality.notes, ElementsAre(HasSubstr("without names: /no/such/server")));
}

// The second place returns to 0x123, so it lies in the function before.
TEST(PerfData, PlacesInTheKernelHaveTheNamesThatAreKnownForIt) {
  PerfDataOptions options;
  PerfKernel asked;
  options.kernel = [&](const PerfKernel& kernel) {
    asked = kernel;
    return std::vector<PerfKernelFunction>{{0xffffffff81000000, "do_read", ""},
                                           {0xffffffff81000123, "after", ""}};
  };
  const std::string records =
      mapped(-1, 0xffffffff81000000, 0x1000000, 0xffffffff81000000, "[kernel.kallsyms]_text") + two_threads();
  const Result<model::Profile> profile =
      read_perf_data(perf_file(clock_with_chains(), records), "perf.data", options);
  ASSERT_TRUE(profile) << profile.error().message;
  EXPECT_THAT(stacks_of(*profile),
              ::testing::Contains("server;[server+0x200];[server+0x100];do_read;do_read 10000000"));
  EXPECT_EQ(asked.reference, "_text");
  EXPECT_EQ(asked.reference_address, 0xffffffff81000000);
}

TEST(PerfData, WhatWentThroughAPipeIsTheSame) {
  EXPECT_EQ(read(perf_pipe(clock_with_chains(), two_threads())),
            read(perf_file(clock_with_chains(), two_threads())));
}

TEST(PerfData, PackedRecordsThatAreCutAnywhereAreTheSame) {
  for (const std::size_t piece : {7u, 50u, 100'000u})
    EXPECT_EQ(read(perf_file(clock_with_chains(), packed(two_threads(), piece))),
              read(perf_file(clock_with_chains(), two_threads())))
        << piece;
}

TEST(PerfData, RecordsAreTakenInTheOrderOfTheirTimes) {
  // Rings of several CPUs stand one after the other: the name that thread 7 has at 2 s stands before its sample at 1 s.
  const model::Profile profile =
      read(perf_file(clock_with_chains(), comm(9, 9, "late", 2'000'000'000, true) +
                                              sample({.pid = 9, .tid = 9, .chain = {PERF_CONTEXT_USER, 1}}) +
                                              comm(9, 9, "early") + mapped(9, 0, 0x1000, 0, "/bin/early")));
  EXPECT_THAT(stacks_of(profile), ElementsAre("late;[early+0x1] 10000000"));
}

TEST(PerfData, AForkedChildHasItsParentsCode) {
  const std::string records = comm(7, 7, "parent") + mapped(7, kCode, 0x1000, 0, "/bin/p") +
                              forked(20, 7, 500'000'000) +
                              sample({.pid = 20, .tid = 20, .chain = {PERF_CONTEXT_USER, kCode + 8}});
  const model::Profile profile = read(perf_file(clock_with_chains(), records));
  EXPECT_THAT(stacks_of(profile), ElementsAre("parent;[p+0x8] 10000000"));
  EXPECT_EQ(profile.processes[0].pid, 20);
  EXPECT_EQ(profile.processes[0].parent_pid, 7);
  EXPECT_EQ(profile.processes[0].start_ns, 500'000'000u);
}

TEST(PerfData, WhatWasLostIsCounted) {
  const auto lost =
      record(PERF_RECORD_LOST, 0,
             Bytes().put(std::uint64_t{100}).put(std::uint64_t{12}).text(trailer(7, 7, 1).str()));
  const auto throttled = record(PERF_RECORD_THROTTLE, 0,
                                Bytes()
                                    .put(std::uint64_t{1})
                                    .put(std::uint64_t{100})
                                    .put(std::uint64_t{1})
                                    .text(trailer(7, 7, 1).str()));
  const model::Profile profile =
      read(perf_file(clock_with_chains(), two_threads() + lost + lost + throttled));
  EXPECT_EQ(profile.quality.lost_ring_full, 24u);
  EXPECT_EQ(profile.quality.lost_throttled, 1u);
}

TEST(PerfData, OfSeveralEventsOneIsShownAndTheOthersAreNamed) {
  const std::vector<perf_event_attr> events{attributes(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS),
                                            attributes(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES)};
  const model::Profile profile =
      read(perf_file(events, comm(7, 7, "a") + mapped(7, kCode, 0x1000, 0, "/bin/a") +
                                 sample({.id = 100, .ip = kCode, .period = 5}) +
                                 sample({.id = 101, .ip = kCode + 1, .period = 77})));
  EXPECT_THAT(stacks_of(profile), ElementsAre("a;[a+0x1] 77"));
  EXPECT_EQ(analysis::unit_of(profile, Metric::kCpu), "cycles");
  EXPECT_THAT(profile.quality.notes,
              ::testing::Contains(HasSubstr("Shown is cycles; left out: instructions.")));
}

std::vector<perf_event_attr> switch_event() {
  perf_event_attr event = attributes(PERF_TYPE_TRACEPOINT, 316, PERF_SAMPLE_RAW);
  return {event};
}
std::string tracing() {
  const std::string text = "name: sched_switch\nID: 316\nformat:\n";
  std::string body = text;
  body.append((8 - body.size() % 8) % 8, ' ');
  return record(66, 0, Bytes().put(static_cast<std::uint32_t>(body.size()))) + body;
}

TEST(PerfData, SwitchesThatEndAreWaits) {
  // 7 waits from 1 s on and has its CPU again at 1.5 s; 8 is preempted for 0.1 s; 8 waits, and the file does not say how long.
  const std::string records =
      comm(7, 7, "a") + comm(7, 8, "b") + mapped(7, kCode, 0x1000, 0, "/bin/a") +
      switched(100, 7, 1'000'000'000, 1, 8, kCode + 1) + switched(100, 8, 1'500'000'000, 0, 7, kCode + 2) +
      switched(100, 7, 1'600'000'000, 2, 8, kCode + 3) + switched(100, 8, 1'700'000'000, 1, 0, kCode + 4);
  const model::Profile profile = read(perf_pipe(switch_event(), tracing() + records));
  ASSERT_EQ(profile.waits.size(), 2u);
  EXPECT_EQ(profile.waits[0].waited_ns, 500'000'000u);
  EXPECT_EQ(profile.waits[0].state, model::WaitState::kInterruptible);
  EXPECT_EQ(profile.waits[1].waited_ns, 0u);
  EXPECT_EQ(profile.waits[1].queued_ns, 100'000'000u);
  EXPECT_EQ(profile.waits[1].state, model::WaitState::kPreempted);
  EXPECT_THAT(profile.quality.notes, ::testing::Contains(HasSubstr("2 of 4 switches have no end")));
}

TEST(PerfData, SwitchesOfWhichNoneEndsAreNumbers) {
  const std::string records = comm(7, 7, "a") + mapped(7, kCode, 0x1000, 0, "/bin/a") +
                              switched(100, 7, 1'000'000'000, 1, 99, kCode + 1) +
                              switched(100, 7, 1'500'000'000, 1, 99, kCode + 1);
  const model::Profile profile = read(perf_pipe(switch_event(), tracing() + records));
  EXPECT_THAT(stacks_of(profile), ElementsAre("a;[a+0x1] 2"));
  EXPECT_EQ(analysis::unit_of(profile, Metric::kCpu), "switches");
  EXPECT_THAT(
      profile.quality.notes,
      ::testing::Contains(HasSubstr(
          "The file records when threads stopped running but not when they resumed, so it has numbers of switches but no times. perf record -e sched:sched_switch -a without a filter records both.")));
}

// This program itself: its registers and a copy of its stack.
struct OwnStack {
  std::vector<std::uint64_t> registers;
  std::string copy;
};
constexpr std::string_view kSecret = "TOKEN=hunter2-in-the-copied-stack";
// Byte by byte, as sanitizers put bytes that must not be read between variables.
[[gnu::noinline, gnu::no_sanitize_address]] OwnStack copy_own_stack() {
  ucontext_t context;
  ::getcontext(&context);
  const auto& gregs = context.uc_mcontext.gregs;
  OwnStack own;
  for (const int row : {REG_RBP, REG_RSP, REG_RIP})
    own.registers.push_back(static_cast<std::uint64_t>(gregs[row]));
  own.copy.resize(3072);
  const auto* stack = reinterpret_cast<const volatile char*>(gregs[REG_RSP]);
  for (std::size_t i = 0; i < own.copy.size(); ++i) own.copy[i] = stack[i];
  // An environment lies at the far end.
  own.copy.replace(own.copy.size() - kSecret.size(), kSecret.size(), kSecret);
  return own;
}
[[gnu::noinline]] OwnStack call_copy() {
  OwnStack own = copy_own_stack();
  own.copy.push_back('.');  // so that this is no tail call
  return own;
}

TEST(PerfData, CopiedStacksAreWalkedAndLetGo) {
  const OwnStack own = call_copy();
  ASSERT_NE(own.copy.find(kSecret), std::string::npos);
  const std::string path = std::filesystem::read_symlink("/proc/self/exe");
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  // Where the code of this program is mapped.
  const elf::ModuleFile file = elf::ModuleFile::open(path).value();
  std::uint64_t bias = 0;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) {
        *static_cast<std::uint64_t*>(data) = info->dlpi_addr;
        return 1;  // the first one is the program
      },
      &bias);
  std::string records = comm(7, 7, "self");
  for (const elf::Segment& segment : file.elf().segments()) {
    if (segment.type != PT_LOAD || (segment.flags & PF_X) == 0) continue;
    const std::uint64_t first = segment.offset.value & ~std::uint64_t{0xfff};
    const std::uint64_t start = bias + (segment.address.value & ~std::uint64_t{0xfff});
    records += mapped(7, start, segment.offset.value + segment.file_size - first, first, path, status.st_ino,
                      major(status.st_dev), minor(status.st_dev));
  }
  Bytes rest;
  rest.put(std::uint64_t{PERF_SAMPLE_REGS_ABI_64});
  for (const std::uint64_t value : own.registers) rest.put(value);
  rest.put(std::uint64_t{own.copy.size()}).text(own.copy).put(std::uint64_t{own.copy.size()});
  records += sample({.ip = own.registers[2], .rest = rest.str()});
  perf_event_attr event =
      attributes(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER);
  event.sample_regs_user = 1u << 6 | 1u << 7 | 1u << 8;
  const model::Profile profile = read(perf_file({event}, records));

  // The leaf, who called it, and this test.
  std::vector<std::string> functions;
  for (model::StackId stack = profile.samples.at(0).stack; stack.value != 0;
       stack = profile.stacks[stack.value].parent) {
    const std::uint64_t address = profile.frames[profile.stacks[stack.value].frame.value].address.value;
    for (const elf::Symbol& symbol : file.elf().symbols(elf::SymbolTable::kSymtab))
      if (symbol.address.value <= address && address < symbol.address.value + symbol.size)
        functions.emplace_back(symbol.name);
  }
  ASSERT_GE(functions.size(), 3u);
  EXPECT_THAT(functions[0], HasSubstr("copy_own_stack"));
  EXPECT_THAT(functions[1], HasSubstr("call_copy"));
  EXPECT_THAT(functions[2], HasSubstr("CopiedStacksAreWalkedAndLetGo"));
  for (std::uint32_t i = 0; i < profile.strings.size(); ++i)
    EXPECT_EQ(profile.strings[{i}].find("hunter2"), std::string_view::npos);
  EXPECT_EQ(profile.quality.early_ends.size(), 1u) << "3 KiB do not reach the start of the thread";
}

TEST(PerfData, WithoutTheBinaryACopiedStackTellsItsLeafOnly) {
  Bytes rest;
  rest.put(std::uint64_t{PERF_SAMPLE_REGS_ABI_64}).put(std::uint64_t{1}).put(std::uint64_t{2}).put(kCode + 5);
  rest.put(std::uint64_t{16}).text(std::string(16, 'x')).put(std::uint64_t{16});
  perf_event_attr event =
      attributes(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER);
  event.sample_regs_user = 1u << 6 | 1u << 7 | 1u << 8;
  const model::Profile profile =
      read(perf_file({event}, comm(7, 7, "a") + mapped(7, kCode, 0x1000, 0, "/no/such/a") +
                                  sample({.ip = kCode + 5, .rest = rest.str()})));
  EXPECT_THAT(stacks_of(profile), ElementsAre("a;[a+0x5] 10000000"));
  EXPECT_EQ(profile.samples[0].end, WALK_NO_TABLE);
  EXPECT_THAT(profile.quality.notes, ::testing::Contains(HasSubstr("--symbols DIR, with the binary in DIR")));
}

TEST(PerfData, CutAnywhereItIsReadOrRefusedInOneLine) {
  for (const std::string& whole :
       {perf_file(clock_with_chains(), two_threads()), perf_file(clock_with_chains(), packed(two_threads())),
        perf_pipe(switch_event(), tracing() + two_threads())}) {
    for (std::size_t size = 0; size < whole.size(); ++size) {
      const auto profile = read_perf_data(std::string_view(whole).substr(0, size), "cut");
      if (profile) {
        EXPECT_TRUE(profile->quality.truncated || profile->samples.size() < 3) << size;
      } else {
        EXPECT_EQ(profile.error().message.find('\n'), std::string::npos);
      }
    }
  }
}

TEST(PerfData, IdleCpusAreCountedAndLeftOut) {
  const auto read_of = [](std::int32_t tid) {
    return read(perf_file({attributes(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK)},
                          comm(7, 7, "a") + mapped(7, kCode, 0x1000, 0, "/no/such/a") +
                              sample({.ip = kCode + 5}) + sample({.ip = kCode + 6, .pid = tid, .tid = tid})));
  };
  EXPECT_EQ(read_of(7).samples.size(), 2u);
  const model::Profile profile = read_of(0);
  EXPECT_EQ(profile.samples.size(), 1u);
  EXPECT_THAT(profile.quality.notes,
              ::testing::Contains(HasSubstr("1 of 2 samples (50.0 %) found a CPU idle")));
}

TEST(PerfData, DamageIsSaid) {
  EXPECT_THAT(read_perf_data("PERFILE2........", "x").error().message, HasSubstr("damaged head"));
  EXPECT_THAT(read_perf_data(perf_file(clock_with_chains(), ""), "x").error().message,
              HasSubstr("without a sample"));
  std::string bad = packed(two_threads(), 100'000);
  bad[40] ^= 0x55;
  EXPECT_THAT(read_perf_data(perf_file(clock_with_chains(), bad), "x").error().message,
              HasSubstr("packed records of perf.data"));
  // A chain of more addresses than the record has.
  const auto chain = sample({.ip = kCode, .rest = Bytes().put(UINT64_MAX / 8).str()});
  EXPECT_THAT(read_perf_data(perf_file(clock_with_chains(), chain), "x").error().message,
              HasSubstr("without a sample"));
}

}  // namespace
}  // namespace fathom::formats
