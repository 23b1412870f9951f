// Recordings written when their version was new: every later version reads them with the same content. Only
// the file of the newest version may be written again, and only until its release.
#include <cstdlib>
#include <utility>
#include <vector>

#include "model/store/testing.h"

namespace fathom::store {
namespace {

using namespace model;

constexpr const char* kVersion10 = "testdata/version_1_0.fathom";
constexpr const char* kVersion11 = "testdata/version_1_1.fathom";
constexpr const char* kVersion12 = "testdata/version_1_2.fathom";
constexpr const char* kVersion13 = "testdata/version_1_3.fathom";
constexpr const char* kVersion14 = "testdata/version_1_4.fathom";
constexpr const char* kVersion15 = "testdata/version_1_5.fathom";
constexpr const char* kVersion16 = "testdata/version_1_6.fathom";
constexpr const char* kVersion17 = "testdata/version_1_7.fathom";
constexpr const char* kVersion18 = "testdata/version_1_8.fathom";
constexpr const char* kVersion19 = "testdata/version_1_9.fathom";
constexpr const char* kVersion110 = "testdata/version_1_10.fathom";
constexpr const char* kNewest = "testdata/version_1_11.fathom";

// A value in every table and every field of version 1.0; spelled out, because it must never change.
Profile profile_of_version_1_0() {
  Profile profile;
  Builder builder(profile);
  Meta& meta = profile.meta;
  meta.target = "redis-server (pid 12)";
  meta.engine = "bpf";
  meta.event = "cpu-clock";
  meta.frequency_hz = 999;
  meta.start_ns = 1'000'000'000'000;
  meta.end_ns = 1'002'000'000'000;
  meta.start_unix_ns = 1'772'368'205'250'000'000;
  meta.facts = {{"host", "example"}, {"cpus", "2"}};

  Module file;
  file.kind = ModuleKind::kFile;
  file.name = builder.string("redis-server");
  file.path = builder.string("/usr/bin/redis-server");
  file.build_id = builder.string("00112233445566778899aabbccddeeff00112233");
  file.symbols = SymbolSource::kDwarf;
  file.symbols_path = builder.string("/usr/lib/debug/.build-id/00/112233.debug");
  Module kernel;
  kernel.kind = ModuleKind::kKernel;
  kernel.name = builder.string("[kernel]");
  kernel.symbols = SymbolSource::kKallsyms;
  const ModuleId server = builder.module(file), in_kernel = builder.module(kernel);

  const FrameId main = builder.frame(server, {0x12340}), call = builder.frame(server, {0x12ab0});
  const FrameId unnamed = builder.frame(server, {0x999}),
                write = builder.frame(in_kernel, {0xffffffff81000010});
  builder.name_frame(main, {{"main", "server.c", 7000}});
  builder.name_frame(call, {{"addReply", "networking.c", 300}, {"call(client*)", "server.c", 3500}});
  builder.name_frame(write, {{"ksys_write", "", 0}});
  const StackId root = builder.stack({0}, main);
  const StackId stacks[] = {builder.stack(builder.stack(root, call), write), builder.stack(root, unnamed),
                            root};

  Process process;
  process.pid = 12;
  process.parent_pid = 1;
  process.end_ns = 1'001'500'000'000;
  process.name = builder.string("redis-server");
  process.executable = builder.string("/usr/bin/redis-server");
  profile.processes = {process};
  for (const int tid : {12, 15}) {
    Thread thread;
    thread.tid = tid;
    thread.name = builder.string(tid == 12 ? "redis-server" : "bio_aof");
    thread.start_ns = tid == 12 ? 0 : 1'000'100'000'000;
    thread.cpu_ns = 1'234'567'890;
    profile.threads.push_back(thread);
  }
  for (std::uint32_t i = 0; i < 300; ++i) {
    Sample sample;
    sample.time_ns = meta.start_ns + i * std::uint64_t{1'001'001} + i * i % 97;
    sample.thread = {i / 50 % 2};
    sample.stack = stacks[i * i % 3];
    sample.cpu = static_cast<std::uint16_t>(i % 2);
    sample.end = i % 10 == 0 ? 3 : 1;
    if (i % 7 == 0) {
      sample.metric = Metric::kOffCpu;
      sample.value = std::int64_t{i} * 1'000'003;
    }
    profile.samples.push_back(sample);
  }
  profile.series = {{builder.string("memory.rss_anon"),
                     builder.string("bytes"),
                     12,
                     {{meta.start_ns, 4096}, {meta.end_ns, 8192}}},
                    {builder.string("cpu.share"),
                     builder.string("ratio"),
                     12,
                     {{meta.start_ns, 0.25}, {meta.end_ns, -1.5}}}};

  Quality& quality = profile.quality;
  quality = {.samples = 300,
             .filtered = 2,
             .expected_samples = 310.5,
             .lost_ring_full = 3,
             .lost_stack = 4,
             .lost_throttled = 5,
             .lost_records = 6,
             .lost_disk = 7,
             .complete = 270,
             .kernel_truncated = 9,
             .early_ends = {{3, server, 30}},
             .table_overflows = 10,
             .profiler_cpu_ns = 11,
             .profiler_rss_bytes = 12,
             .bpf_ns = 13,
             .bpf_runs = 14,
             .kernel_memory_bytes = 15,
             .target_stops = 16,
             .target_stop_ns = 17,
             .truncated = false,
             .notes = {"no names for [vdso]"}};
  return profile;
}

// Adds version 1.1: waits.
Profile profile_of_version_1_1() {
  Profile profile = profile_of_version_1_0();
  Builder builder(profile);
  profile.objects.push_back({ObjectKind::kFutex, {}, 0x7f0012345678, 12});
  profile.objects.push_back({ObjectKind::kFile, builder.string("/data/appendonly.aof"), 0, 0});
  profile.objects.push_back({ObjectKind::kSocket, builder.string("10.0.0.1:443"), 9, 12});
  for (std::uint32_t i = 0; i < 100; ++i) {
    Wait wait;
    wait.start_ns = profile.meta.start_ns + i * std::uint64_t{20'000'000};
    wait.waited_ns = i % 10 == 0 ? 0 : 1'000'000 + i * i;
    wait.queued_ns = 2000 + i;
    wait.thread = {i % 2};
    wait.stack = {1 + i % 3};
    if (i % 3 == 0) wait.waker = {1 - i % 2};
    if (i % 6 == 0) wait.waker_stack = {2};
    wait.object = {i % 4};
    wait.system_call = i % 4 == 0 ? -1 : i % 4 == 1 ? 202 : i % 4 == 2 ? 75 : 0;
    wait.argument = i % 4 == 0 ? std::uint64_t{i} * 4096 : 0x80;
    wait.weight = i < 50 ? 1 : 8;
    wait.state = static_cast<WaitState>(i % 10 == 0 ? 0 : 1 + i % 5);
    wait.end = i % 20 == 0 ? 5 : 1;
    wait.began_before = i < 2;
    wait.unfinished = i == 99;
    profile.waits.push_back(wait);
  }
  Thread& thread = profile.threads[1];
  thread.ran_ns = 1'234'567'000;
  thread.waited_ns = 600'000'001;
  thread.queued_ns = 65'432'999;
  thread.waits = 400;
  thread.preemptions = 31;
  thread.unwalked_waits = 350;
  thread.unwalked_ns = 500'000'000;
  Quality& quality = profile.quality;
  quality.waits = 102;
  quality.filtered_waits = 2;
  quality.unwalked_waits = 20;
  quality.unwalked_ns = 21;
  quality.lost_waits = 22;
  quality.switches = 23;
  quality.switch_ns = 24;
  return profile;
}

// Adds version 1.2: results of the calls that waited.
Profile profile_of_version_1_2() {
  Profile profile = profile_of_version_1_1();
  for (std::size_t i = 0; i < profile.waits.size(); ++i) {
    if (i % 4 == 3) profile.waits[i].result = i % 8 == 3 ? static_cast<std::int64_t>(i) * 512 : -11;
  }
  return profile;
}

// Adds version 1.3: the heap, exact and sampled.
Profile profile_of_version_1_3() {
  Profile profile = profile_of_version_1_2();
  Builder builder(profile);
  HeapTables& heap = profile.heap;
  Heap exact;
  exact.mode = HeapMode::kExact;
  exact.from_start = true;
  exact.start_ns = profile.meta.start_ns;
  exact.end_ns = profile.meta.end_ns;
  exact.earlier_rss_bytes = 1;
  exact.earlier_frees = 2;
  exact.peak_ns = profile.meta.start_ns + 1'500'000'000;
  exact.peak_bytes = 12'345'678;
  exact.peak_blocks = 1234;
  exact.events = 3;
  exact.lost_ring_full = 4;
  exact.lost_no_ring = 5;
  exact.lost_throwing = 6;
  exact.lost_set_full = 7;
  exact.lost_damaged = 8;
  exact.nested = 9;
  exact.unwalked = 10;
  exact.incomplete = 11;
  exact.unseen_frees = 12;
  exact.waited_ns = 13;
  exact.merged_sites = 14;
  exact.switched_off = true;
  Heap sampled;
  sampled.mean_bytes = 524288;
  heap.heaps = {exact, sampled};
  heap.allocators.push_back({builder.string("glibc 2.36"), {1}});
  heap.hooks = {{{1}, builder.string("malloc"), {}, HookKind::kSlot},
                {{1}, builder.string("free"), {}, HookKind::kEntry},
                {{1}, builder.string("pvalloc"), builder.string("too short"), HookKind::kNone}};
  for (std::uint32_t i = 0; i < 4; ++i) {
    const std::uint64_t start = profile.meta.start_ns + i / 2 * 1'000'000'000ull;
    heap.slices.push_back(
        {{i % 2}, start, start + 1'000'000'000, start + 400'000'000, 1e6 * i, 5e5 * i, 10.0 * i});
  }
  heap.sites = {{{0}, {1}, {1}, {0}, 1}, {{0}, {2}, {1}, kNoThread, 3}, {{1}, {3}, {0}, {1}, 1}};
  heap.rows = {
      {{0}, {0}, {10, 640}, {4, 256}, {2, 128}, {1, 64}, {}, {}, 0},
      {{2}, {1}, {3, 30}, {}, {}, {}, {}, {}, 0},
      {{1}, {2}, {1.25, 655360.5}, {0.5, 4096.125}, {}, {0.5, 4096.125}, {0.3, 1e12}, {0.1, 1e11}, 5e10}};
  heap.summaries = {{{0}, {5, 320}, {}, 987'654'321}, {{2}, {1.25, 655360.5}, {0.3, 1e12}, 0}};
  heap.histograms = {{{0}, HeapHistogramKind::kSize, 7, {10, 640}},
                     {{0}, HeapHistogramKind::kLifetime, 30, {4, 256}},
                     {{2}, HeapHistogramKind::kAge, 64, {1.25, 655360.5}}};
  return profile;
}

// Adds version 1.4: page faults, and waits caused by a quota.
Profile profile_of_version_1_4() {
  Profile profile = profile_of_version_1_3();
  for (std::size_t i = 0; i < profile.waits.size(); ++i) profile.waits[i].throttled = i % 20 == 10;
  for (std::uint32_t i = 0; i < 40; ++i) {
    Fault fault;
    fault.time_ns = profile.meta.start_ns + i * std::uint64_t{3'000'000};
    fault.thread = {i % 2};
    fault.stack = {1 + i % 3};
    fault.object = {i % 4};
    fault.offset = std::uint64_t{i} * i * 4096;
    fault.major = i % 3 == 0;
    fault.weight = fault.major ? 1 : 64;
    fault.end = i % 9 == 0 ? 5 : 1;
    profile.faults.push_back(fault);
  }
  return profile;
}

// Adds version 1.5: how the memory of blocks is used and returned.
Profile profile_of_version_1_5() {
  Profile profile = profile_of_version_1_4();
  profile.heap.heaps[0].invalid_frees = 15;
  profile.heap.uses = {{{0}, 384, {2, 128}, {}}, {{1}, 0, {}, {1, 10}}};
  return profile;
}

// Adds version 1.6: memory returned while it stays mapped.
Profile profile_of_version_1_6() {
  Profile profile = profile_of_version_1_5();
  profile.heap.returns = {{{0}, {3, 12288}}, {{2}, {1, 1 << 30}}};
  return profile;
}

// Adds version 1.7: time that was not recorded, and a program replaced by another one (exec).
Profile profile_of_version_1_7() {
  Profile profile = profile_of_version_1_6();
  profile.heap.heaps[1].image_ended = true;
  profile.heap.heaps[1].dropped_blocks = 16;
  profile.heap.heaps[1].dropped_bytes = 1 << 20;
  profile.heap.outages = {{{0}, profile.meta.start_ns + 100, profile.meta.start_ns + 5000},
                          {{0}, profile.meta.start_ns + 9000, profile.meta.start_ns + 9001},
                          {{1}, profile.meta.start_ns + 300, profile.meta.start_ns + 400}};
  return profile;
}

// Adds version 1.8: calls of chosen functions.
Profile profile_of_version_1_8() {
  Profile profile = profile_of_version_1_7();
  for (std::uint32_t i = 0; i < 6; ++i) {
    Calls row;
    row.time_ns = profile.meta.start_ns + i / 2 * std::uint64_t{1'000'000'000};
    row.function = {i % 2};
    row.process = {0};
    row.stack = {1 + i % 3};
    row.calls = 100 + i;
    row.counted_only = i;
    row.timed = i % 2 == 0;
    if (row.timed) row.returned = 99, row.total_ns = 123'456'789, row.longest_ns = 5'000'000 + i;
    row.sized = i, row.bytes = std::uint64_t{i} << 40;
    row.end = i == 5 ? 3 : 1;
    profile.calls.push_back(row);
  }
  return profile;
}

// Adds version 1.9: hooks that are probes of the program; and memory ranges, which no earlier file has.
Profile profile_of_version_1_9() {
  Profile profile = profile_of_version_1_8();
  Builder builder(profile);
  profile.heap.hooks.push_back({{1}, builder.string("memory:alloc"), {}, HookKind::kProbe});
  for (std::uint32_t i = 0; i < 13; ++i) {
    MemoryRange row;
    row.time_ns = profile.meta.start_ns + i / 7 * std::uint64_t{1'000'000'000};
    row.kind = static_cast<MemoryKind>(i);
    row.name = builder.string(i % 2 == 0 ? "/usr/lib/libc.so.6" : "worker");
    row.ranges = i + 1;
    row.virtual_bytes = std::uint64_t{i} << 30;
    row.rss_bytes = 4096 * i;
    row.anonymous_bytes = 1024 * i;
    row.swap_bytes = 8192;
    row.huge_bytes = i == 3 ? 2u << 20 : 0;
    if (row.kind == MemoryKind::kAllocator) {
      row.allocator = {1};
      row.live_blocks = 17;
      row.live_bytes = 1234.5;
      row.live_resident_bytes = 1024;
      row.live_resident_variance = 0.25;
    }
    row.live_is_bound = i == 4;
    row.shared_out = i == 5;
    profile.memory_ranges.push_back(row);
  }
  return profile;
}

// Adds version 1.10: spans.
Profile profile_of_version_1_10() {
  Profile profile = profile_of_version_1_9();
  const StringId kinds[] = {profile.strings.intern("newPayload"), profile.strings.intern("commit")};
  for (std::uint32_t i = 0; i < 12; ++i) {
    Span row;
    row.start_ns = profile.meta.start_ns + i * std::uint64_t{1'000'000};
    row.end_ns = row.start_ns + i * std::uint64_t{i} * 1000;
    row.name = kinds[i % 2];
    if (i % 3 != 0) row.thread = {i % 2};
    row.source = static_cast<SpanSource>(i % 8);
    if (i >= 6) row.id = std::uint64_t{1} << (i * 5), row.parent = i;
    profile.spans.push_back(row);
  }
  return profile;
}

// Adds version 1.11: blocks that were freed twice.
Profile profile_of_version_1_11() {
  Profile profile = profile_of_version_1_10();
  profile.heap.uses[0].twice = {3, 96};
  return profile;
}

TEST(Golden, RecordingOfVersion10IsStillRead) {
  auto read_back = read(kVersion10);
  ASSERT_TRUE(read_back) << read_back.error().message;
  EXPECT_EQ(*read_back, profile_of_version_1_0());
}

TEST(Golden, RecordingOfVersion11IsStillRead) {
  auto read_back = read(kVersion11);
  ASSERT_TRUE(read_back) << read_back.error().message;
  EXPECT_EQ(*read_back, profile_of_version_1_1());
}

TEST(Golden, RecordingOfVersion12IsStillRead) {
  auto read_back = read(kVersion12);
  ASSERT_TRUE(read_back) << read_back.error().message;
  EXPECT_EQ(*read_back, profile_of_version_1_2());
}

TEST(Golden, RecordingOfVersion13IsStillRead) {
  auto read_back = read(kVersion13);
  ASSERT_TRUE(read_back) << read_back.error().message;
  EXPECT_EQ(*read_back, profile_of_version_1_3());
}

TEST(Golden, RecordingOfVersion14IsStillRead) {
  auto read_back = read(kVersion14);
  ASSERT_TRUE(read_back) << read_back.error().message;
  EXPECT_EQ(*read_back, profile_of_version_1_4());
}

TEST(Golden, RecordingOfVersion15IsStillRead) {
  auto read_back = read(kVersion15);
  ASSERT_TRUE(read_back) << read_back.error().message;
  EXPECT_EQ(*read_back, profile_of_version_1_5());
}

TEST(Golden, RecordingOfVersion16IsStillRead) {
  auto read_back = read(kVersion16);
  ASSERT_TRUE(read_back) << read_back.error().message;
  EXPECT_EQ(*read_back, profile_of_version_1_6());
}

TEST(Golden, RecordingOfVersion17IsStillRead) {
  auto read_back = read(kVersion17);
  ASSERT_TRUE(read_back) << read_back.error().message;
  EXPECT_EQ(*read_back, profile_of_version_1_7());
}

TEST(Golden, RecordingOfVersion18IsStillRead) {
  auto read_back = read(kVersion18);
  ASSERT_TRUE(read_back) << read_back.error().message;
  EXPECT_EQ(*read_back, profile_of_version_1_8());
}

TEST(Golden, RecordingOfVersion19IsStillRead) {
  auto read_back = read(kVersion19);
  ASSERT_TRUE(read_back) << read_back.error().message;
  EXPECT_EQ(*read_back, profile_of_version_1_9());
}

TEST(Golden, RecordingOfVersion110IsStillRead) {
  auto read_back = read(kVersion110);
  ASSERT_TRUE(read_back) << read_back.error().message;
  EXPECT_EQ(*read_back, profile_of_version_1_10());
}

TEST(Golden, RecordingOfVersion111IsStillRead) {
  const Profile expected = profile_of_version_1_11();
  if (const char* bless = std::getenv("BLESS"); bless != nullptr && std::string_view(bless) == "1")
    write_sliced(kNewest, expected, 4);
  auto read_back = read(kNewest);
  ASSERT_TRUE(read_back) << read_back.error().message << " (BLESS=1 writes it)";
  EXPECT_EQ(*read_back, expected);
}

// Type and payload of each block; without compression, whose bytes depend on the version of zstd, and without the index, which has
// the places of the compressed blocks.
std::vector<std::pair<std::string, Bytes>> payloads_of(const std::string& content) {
  std::vector<std::pair<std::string, Bytes>> payloads;
  BlockDecoder decoder;
  for (const FoundBlock& block : blocks_of(content)) {
    if (block.header.type == kIndex || block.header.type == kEnd) continue;
    const auto stored = bytes_of(content).subspan(block.offset + kBlockHeaderSize, block.header.stored_size);
    const auto payload = decoder.payload(block.header, stored);
    EXPECT_TRUE(payload) << payload.error().message;
    if (payload)
      payloads.emplace_back(block_name(block.header.type), Bytes(payload->begin(), payload->end()));
  }
  return payloads;
}

// Not only is what was written read back: it is written in the same way, so that older versions read what this one writes.
TEST(Golden, TheSameRecordingHasTheSameBytesAsWhenItsVersionWasNew) {
  const std::pair<const char*, Profile> versions[] = {{kVersion18, profile_of_version_1_8()},
                                                      {kVersion19, profile_of_version_1_9()},
                                                      {kVersion110, profile_of_version_1_10()},
                                                      {kNewest, profile_of_version_1_11()}};
  for (const auto& [path, profile] : versions) {
    TemporaryFile file;
    write_sliced(file.path(), profile, 4);
    EXPECT_EQ(payloads_of(file.content()), payloads_of(read_file(path).value())) << path;
  }
}

}  // namespace
}  // namespace fathom::store
