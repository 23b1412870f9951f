// The heap of a program that books every call of its own: equal to the byte where every call is traced, and
// inside of the stated interval where it is sampled.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "support/environment.h"
#include "support/fathom_program.h"
#include "support/heap_answer.h"
#include "support/process_code.h"

namespace fathom::support {
namespace {

using std::chrono::milliseconds;

struct Truth {
  explicit Truth(const Outcome& outcome)
      : calls(answer_of(outcome, "calls")),
        bytes(answer_of(outcome, "bytes")),
        live_calls(answer_of(outcome, "live_calls")),
        live_bytes(answer_of(outcome, "live_bytes")) {}
  std::map<std::string, double> calls, bytes, live_calls, live_bytes;
};

// Without the sites that ran before anybody could look.
void expect_equal(const HeapAnswer& answer, const Truth& truth, const std::set<std::string>& without = {}) {
  for (const auto& [site, calls] : truth.calls) {
    if (without.contains(site)) continue;
    const HeapNumbers numbers = answer.below(site);
    EXPECT_EQ(numbers.calls, calls) << site;
    EXPECT_EQ(numbers.bytes, truth.bytes.at(site)) << site;
    EXPECT_EQ(numbers.live_calls, truth.live_calls.at(site)) << site;
    EXPECT_EQ(numbers.live_bytes, truth.live_bytes.at(site)) << site;
  }
  EXPECT_EQ(answer.heap().lost_ring_full + answer.heap().lost_no_ring + answer.heap().lost_damaged, 0)
      << answer.losses();
  EXPECT_EQ(answer.heap().unwalked, 0) << answer.losses();
  EXPECT_EQ(answer.heap().incomplete, 0) << answer.losses();
}

class HeapTruth : public testing::Test {
 protected:
  // Starts a program that waits for the word to begin, attaches to it, and lets it run to its end.
  Outcome attach(const std::vector<std::string>& program, const std::vector<std::string>& options) {
    std::vector<std::string> arguments = program;
    arguments.push_back(folder_ / "go");
    Running target(arguments);
    pause_ms(200);
    std::vector<std::string> all{"-p", std::to_string(target.pid())};
    all.insert(all.end(), options.begin(), options.end());
    Running recorder = start_recording(recording_, all);
    wait_until([&] { return recorder.errors_so_far().find("heap") != std::string::npos; },
               milliseconds(1500));
    std::ofstream(folder_ / "go") << "go";
    const Outcome outcome = target.wait(milliseconds(60'000));
    const Outcome recorded = recorder.wait(milliseconds(20'000));
    EXPECT_TRUE(recorded.ok()) << recorded.describe();
    return outcome;
  }

  TempDir folder_;
  std::string recording_ = folder_ / "x.fathom";
};

// With the counter, and where a sequence orders the events as on machines whose counter cannot.
class HeapTruthByClock : public HeapTruth, public testing::WithParamInterface<const char*> {
 protected:
  // The program that is recorded sees the variable too, and does not care.
  void SetUp() override {
    setenv("FATHOM_HIDE_TSC", by_sequence() ? "1" : "", 1);
  }                                                          // NOLINT(concurrency-mt-unsafe)
  void TearDown() override { unsetenv("FATHOM_HIDE_TSC"); }  // NOLINT(concurrency-mt-unsafe)
  static bool by_sequence() { return GetParam() == std::string("Sequence"); }
};
INSTANTIATE_TEST_SUITE_P(, HeapTruthByClock, testing::Values("Counter", "Sequence"),
                         [](const auto& of) { return std::string(of.param); });

TEST_P(HeapTruthByClock, OneThreadFromItsStartToTheByte) {
  FATHOM_NEEDS_BPF();
  FATHOM_NEEDS_HEAP_TRACING();
  const Outcome outcome =
      fathom({"record", "--heap=exact", "--lossless", "-o", recording_, "--", KNOWN_HEAP, "2000", "1"});
  ASSERT_TRUE(outcome.ok()) << outcome.describe();
  const HeapAnswer answer(recording_);
  expect_equal(answer, Truth(outcome));
  EXPECT_EQ(answer.heap().mode, model::HeapMode::kExact);
  EXPECT_TRUE(answer.heap().from_start);
  const Outcome report = fathom({"report", recording_, "--all"});
  EXPECT_EQ(report.output.find("cannot order events here") != std::string::npos, by_sequence())
      << report.output;
}

// They free each other's blocks.
TEST_P(HeapTruthByClock, FourThreadsFromTheirStartToTheByte) {
  FATHOM_NEEDS_BPF();
  FATHOM_NEEDS_HEAP_TRACING();
  const Outcome outcome =
      fathom({"record", "--heap=exact", "--lossless", "-o", recording_, "--", KNOWN_HEAP, "4000", "4"});
  ASSERT_TRUE(outcome.ok()) << outcome.describe();
  expect_equal(HeapAnswer(recording_), Truth(outcome));
}

// Each thread lives for some ten microseconds, and its control block, slot and ring serve the next one.
TEST_P(HeapTruthByClock, ThreadsBornAndDyingByTheTenThousandToTheByte) {
  FATHOM_NEEDS_BPF();
  FATHOM_NEEDS_HEAP_TRACING();
  const Outcome outcome = attach({THREAD_STORM, "10000", "2"}, {"--heap=exact", "--lossless"});
  ASSERT_TRUE(outcome.ok()) << outcome.describe();
  expect_equal(HeapAnswer(recording_), Truth(outcome));
}

TEST_P(HeapTruthByClock, AStaticProgramToTheByte) {
  FATHOM_NEEDS_BPF();
  FATHOM_NEEDS_HEAP_TRACING();
  const Outcome outcome = fathom(
      {"record", "--heap=exact", "--lossless", "-o", recording_, "--", KNOWN_HEAP_STATIC, "1000", "2"});
  ASSERT_TRUE(outcome.ok()) << outcome.describe();
  expect_equal(HeapAnswer(recording_), Truth(outcome));
}

TEST_P(HeapTruthByClock, ARunningProgramToTheByte) {
  FATHOM_NEEDS_BPF();
  FATHOM_NEEDS_HEAP_TRACING();
  const Outcome outcome = attach({KNOWN_HEAP, "3000", "4"}, {"--heap=exact", "--lossless"});
  ASSERT_TRUE(outcome.ok()) << outcome.describe();
  const HeapAnswer answer(recording_);
  expect_equal(answer, Truth(outcome), {"site_constructor"});
  EXPECT_FALSE(answer.heap().from_start);
}

TEST_F(HeapTruth, AnAllocatorThatIsLoadedLaterIsTracedToo) {
  FATHOM_NEEDS_BPF();
  FATHOM_NEEDS_HEAP_TRACING();
  const Outcome outcome = fathom(
      {"record", "--heap=exact", "--lossless", "-o", recording_, "--", LATE_ALLOCATOR, "libjemalloc.so.2"},
      // Its thread-local memory wants room that programs do not keep for late libraries.
      {.environment = {"GLIBC_TUNABLES=glibc.rtld.optional_static_tls=20000"}});
  if (outcome.exit_status == 77) GTEST_SKIP() << "needs libjemalloc2, which is not installed";
  ASSERT_TRUE(outcome.ok()) << outcome.describe();
  const HeapAnswer answer(recording_);
  const HeapNumbers numbers = answer.below("site_late");
  EXPECT_EQ(numbers.calls, 1000) << answer.losses();
  EXPECT_EQ(numbers.live_bytes, 500'000) << answer.losses();
  EXPECT_THAT(answer.allocators(), testing::Contains(testing::HasSubstr("jemalloc")));
}

// Memory that stays mapped stays live: madvise is reported separately, by caller.
void expect_mappings(const HeapAnswer& answer, const Outcome& outcome) {
  expect_equal(answer, Truth(outcome));
  const auto calls = answer_of(outcome, "returned_calls"), bytes = answer_of(outcome, "returned_bytes");
  for (const auto& [site, count] : calls)
    EXPECT_EQ(answer.given_back_below(site, model::kMappedByProgram), (model::HeapSum{count, bytes.at(site)}))
        << site;
  const auto allocators = answer.allocators();
  const auto glibc =
      std::ranges::find_if(allocators, [](const std::string& label) { return label.starts_with("glibc"); });
  ASSERT_NE(glibc, allocators.end());
  EXPECT_GT(answer.given_back_below("site_trimming", *glibc).bytes, 1 << 20);
  EXPECT_EQ(answer.given_back_below("site_trimming", model::kMappedByProgram), model::HeapSum{});
}

TEST_F(HeapTruth, MappingsAndWhatMadviseGivesBackToTheByte) {
  FATHOM_NEEDS_BPF();
  FATHOM_NEEDS_HEAP_TRACING();
  const Outcome outcome =
      fathom({"record", "--heap=exact", "--lossless", "-o", recording_, "--", KNOWN_MAPPINGS, "50"});
  ASSERT_TRUE(outcome.ok()) << outcome.describe();
  expect_mappings(HeapAnswer(recording_), outcome);
}

TEST_F(HeapTruth, MappingsOfARunningProgramNextToASampledHeap) {
  FATHOM_NEEDS_BPF();
  FATHOM_NEEDS_HEAP_TRACING();
  const Outcome outcome = attach({KNOWN_MAPPINGS, "50"}, {"--heap", "--mappings"});
  ASSERT_TRUE(outcome.ok()) << outcome.describe();
  expect_mappings(HeapAnswer(recording_), outcome);
}

// The recorder stands still until the program has ended: what it had not read by then is in the kernel's ring.
TEST_F(HeapTruth, MappingsThatAreReadAfterTheProgramHasEnded) {
  FATHOM_NEEDS_BPF();
  FATHOM_NEEDS_HEAP_TRACING();
  Running target({KNOWN_MAPPINGS, "50", folder_ / "go"});
  pause_ms(200);
  Running recorder = start_recording(recording_, {"-p", std::to_string(target.pid()), "--heap=exact"});
  recorder.send(SIGSTOP);
  std::ofstream(folder_ / "go") << "go";
  const Outcome outcome = target.wait(milliseconds(60'000));
  recorder.send(SIGCONT);
  ASSERT_TRUE(recorder.wait(milliseconds(20'000)).ok());
  const HeapAnswer answer(recording_);
  const Truth truth(outcome);
  for (const char* site : {"site_kept", "site_shared", "site_growing"})
    EXPECT_EQ(answer.below(site).calls, truth.calls.at(site)) << site;
}

// The last blocks of a heap outlive it: nothing is freed that was not freed by its address.
TEST_F(HeapTruth, MimallocsOwnFunctionsAndItsHeapsToTheByte) {
  FATHOM_NEEDS_BPF();
  FATHOM_NEEDS_HEAP_TRACING();
  const auto library = find_mimalloc();
  if (!library) GTEST_SKIP() << "needs libmimalloc2.0, which is not installed";
  const Outcome outcome = attach({MIMALLOC_HEAPS, *library, "2000"}, {"--heap=exact", "--lossless"});
  ASSERT_TRUE(outcome.ok()) << outcome.describe();
  const HeapAnswer answer(recording_);
  expect_equal(answer, Truth(outcome));
  EXPECT_EQ(answer.heap().unseen_frees, 0);
  EXPECT_EQ(answer.heap().invalid_frees, 0);
  EXPECT_EQ(answer.heap().lost_throwing, 0);
}

// A function that ends in another hooked one must not be counted twice: the sum of all sites is of one size,
// whichever of the functions gave it.
TEST_F(HeapTruth, SampledBlocksOfFunctionsThatEndInOthersAreCountedOnce) {
  FATHOM_NEEDS_BPF();
  FATHOM_NEEDS_HEAP_TRACING();
  const auto library = find_mimalloc();
  if (!library) GTEST_SKIP() << "needs libmimalloc2.0, which is not installed";
  const Outcome outcome =
      attach({MIMALLOC_HEAPS, *library, "20000"}, {"--heap=sampled", "--heap-interval", "16384"});
  ASSERT_TRUE(outcome.ok()) << outcome.describe();
  const HeapAnswer answer(recording_);
  const Truth truth(outcome);
  for (const auto& [site, bytes] : truth.bytes) {
    // By theory, with the mean as it was at the end, when it was largest. Of twenty sites none is beyond six
    // standard errors by chance; counted twice, most would be.
    const double size = bytes / truth.calls.at(site);
    const double seen = -std::expm1(-size / static_cast<double>(answer.heap().mean_bytes));
    const double error = std::sqrt(truth.calls.at(site) * (1 - seen) / seen) * size;
    EXPECT_NEAR(answer.below(site).bytes, bytes, 6 * error + 1) << site;
  }
}

TEST_P(HeapTruthByClock, WronglyFreedBlocksAreReportedBySite) {
  FATHOM_NEEDS_BPF();
  FATHOM_NEEDS_HEAP_TRACING();
  const Outcome outcome =
      fathom({"record", "--heap=exact", "--lossless", "-o", recording_, "--", BAD_FREES, CARELESS_ALLOCATOR});
  ASSERT_TRUE(outcome.ok()) << outcome.describe();
  const HeapAnswer answer(recording_);
  const auto wrong_size = [&](const char* site) { return answer.use_below(site).wrong_size; };
  const auto foreign = [&](const char* site) { return answer.use_below(site).foreign; };
  EXPECT_EQ(wrong_size("site_wrong"), (model::HeapSum{10, 1200})) << answer.losses();
  EXPECT_EQ(wrong_size("site_claimed"), (model::HeapSum{3, 192})) << answer.losses();
  EXPECT_EQ(foreign("site_foreign"), (model::HeapSum{7, 700})) << answer.losses();
  EXPECT_EQ(answer.heap().invalid_frees, 5u) << answer.losses();
  EXPECT_EQ(answer.use_below("site_twice").twice.blocks, 5) << answer.losses();
  for (const char* site : {"site_right", "site_foreign", "site_twice"})
    EXPECT_EQ(wrong_size(site), model::HeapSum{}) << site;
  for (const char* site : {"site_wrong", "site_right", "site_twice", "site_claimed"}) {
    EXPECT_EQ(foreign(site), model::HeapSum{}) << site;
    if (std::string_view(site) != "site_twice") {
      EXPECT_EQ(answer.use_below(site).twice, model::HeapSum{}) << site;
    }
    EXPECT_EQ(answer.below(site).live_calls, 0) << site;
  }
}

// 3.29 standard deviations: one wrong alarm in a thousand.
TEST_P(HeapTruthByClock, SampledItKnowsItsOwnError) {
  FATHOM_NEEDS_BPF();
  FATHOM_NEEDS_HEAP_TRACING();
  const Outcome outcome = fathom(
      {"record", "--heap", "--heap-interval", "65536", "-o", recording_, "--", KNOWN_HEAP, "60000", "2"});
  ASSERT_TRUE(outcome.ok()) << outcome.describe();
  const HeapAnswer answer(recording_);
  const Truth truth(outcome);
  EXPECT_EQ(answer.heap().mode, model::HeapMode::kSampled);
  for (const char* site : {"site_big", "site_aligned", "site_grown"}) {
    const HeapNumbers numbers = answer.below(site);
    const double deviation = std::sqrt(numbers.bytes_variance);
    EXPECT_GT(numbers.bytes, 0) << site;
    EXPECT_LT(std::abs(numbers.bytes - truth.bytes.at(site)), 3.29 * deviation) << site;
    EXPECT_LT(deviation, 0.1 * truth.bytes.at(site)) << site;
  }
  EXPECT_EQ(answer.heap().lost_ring_full, 0) << answer.losses();
}

// "calls to allocation functions: 248125 (125632/s)", "peak heap memory consumption: 31.12M"
double heaptrack_says(const std::string& text, const std::string& key) {
  const std::size_t at = text.find(key + ": ");
  if (at == std::string::npos) return -1;
  const char* start = text.c_str() + at + key.size() + 2;
  char* end = nullptr;
  const double value = std::strtod(start, &end);
  return value * (*end == 'M' ? 1e6 : *end == 'K' ? 1e3 : 1);
}

TEST_F(HeapTruth, HeaptrackAgrees) {
  FATHOM_NEEDS_BPF();
  FATHOM_NEEDS_HEAP_TRACING();
  FATHOM_NEEDS_PROGRAM("heaptrack");
  FATHOM_NEEDS_PROGRAM("jq");
  std::ofstream(folder_ / "input.json") << [] {
    std::string text = "[0";
    for (int i = 0; i < 20'000; ++i)
      text += R"(, {"number": )" + std::to_string(i) + R"(, "list": [1, 2, "x"]})";
    return text + "]";
  }();
  const std::vector<std::string> program{"jq", "length", folder_ / "input.json"};
  std::vector<std::string> theirs{"heaptrack", "-o", folder_ / "heaptrack"};
  theirs.insert(theirs.end(), program.begin(), program.end());
  const Outcome tracked = run(theirs);
  std::string file = folder_ / "heaptrack.zst";
  if (!std::filesystem::exists(file)) file = folder_ / "heaptrack.gz";  // where zstd is not installed
  if (!tracked.ok() || !std::filesystem::exists(file)) GTEST_SKIP() << "heaptrack: " << tracked.describe();
  const Outcome printed = run({"heaptrack_print", "-f", file});
  ASSERT_TRUE(printed.ok()) << printed.describe();
  std::vector<std::string> ours{"record", "--heap=exact", "--lossless", "-o", recording_, "--"};
  ours.insert(ours.end(), program.begin(), program.end());
  ASSERT_TRUE(fathom(ours).ok());

  const HeapAnswer answer(recording_);
  const double calls = heaptrack_says(printed.output, "calls to allocation functions");
  ASSERT_GT(calls, 100'000);
  // Both see all calls but those of the start of the program that only one of them is there for.
  EXPECT_NEAR(answer.of_allocators().calls, calls, 50);
  const double peak = heaptrack_says(printed.output, "peak heap memory consumption");
  EXPECT_NEAR(answer.heap().peak_bytes, peak, 0.01 * peak + 100'000);
}

TEST_F(HeapTruth, LeavesTheProgramAsItWas) {
  FATHOM_NEEDS_BPF();
  FATHOM_NEEDS_HEAP_TRACING();
  const Running target({KNOWN_HEAP, "100000000", "3"});
  pause_ms(300);
  const std::string before = code_of(target.pid());
  ASSERT_GT(before.size(), 1'000'000u);
  for (int i = 0; i < 3; ++i) {
    const Outcome outcome = fathom({"record", i % 2 == 0 ? "--heap" : "--heap=exact", "-d", "1", "-o",
                                    recording_, "-p", std::to_string(target.pid())});
    ASSERT_TRUE(outcome.ok()) << outcome.describe();
    EXPECT_GT(HeapAnswer(recording_).all().calls, 100);
    ASSERT_FALSE(target.finished());
    EXPECT_TRUE(code_of(target.pid()) == before);
    EXPECT_EQ(tracer_mappings_of(target.pid()), 0);
  }
}

// The disk of the recording is full while the heap is traced: said in one line, and nothing else happens.
TEST_F(HeapTruth, AFullDiskEndsTheRecordingAndLeavesTheProgramAsItWas) {
  FATHOM_NEEDS_BPF();
  FATHOM_NEEDS_HEAP_TRACING();
  struct SmallDisk {
    explicit SmallDisk(const std::string& folder) : folder_(folder) {
      std::filesystem::create_directory(folder_);
      mounted = ::mount("none", folder_.c_str(), "tmpfs", 0, "size=64k") == 0;
    }
    ~SmallDisk() {
      if (mounted) ::umount2(folder_.c_str(), MNT_DETACH);
    }
    std::string folder_;
    bool mounted;
  } const disk(folder_ / "disk");
  if (!disk.mounted) GTEST_SKIP() << "needs to mount a file system";
  const Running target({KNOWN_HEAP, "100000000", "3"});
  pause_ms(300);
  const std::string before = code_of(target.pid());
  const std::string recording = disk.folder_ + "/x.fathom";
  const Outcome outcome =
      fathom({"record", "--heap=exact", "-d", "30", "-o", recording, "-p", std::to_string(target.pid())});
  EXPECT_EQ(outcome.exit_status, 1) << outcome.describe();
  EXPECT_THAT(outcome.errors, testing::HasSubstr("No space left on device")) << outcome.describe();
  EXPECT_THAT(outcome.errors, testing::HasSubstr("try: another file system")) << outcome.describe();
  EXPECT_FALSE(target.finished());
  EXPECT_TRUE(code_of(target.pid()) == before);
  EXPECT_EQ(tracer_mappings_of(target.pid()), 0);
  const Outcome report = fathom({"report", recording});
  EXPECT_TRUE(report.ok()) << "what was written before is a recording: " << report.describe();
}

TEST_F(HeapTruth, AKilledProfilerIsTakenOutByDetach) {
  FATHOM_NEEDS_BPF();
  FATHOM_NEEDS_HEAP_TRACING();
  const Running target({KNOWN_HEAP, "100000000", "3"});
  pause_ms(300);
  const std::string before = code_of(target.pid());
  Running recorder = start_recording(recording_, {"--heap=exact", "-p", std::to_string(target.pid())});
  pause_ms(2500);
  const auto guardian = guardian_of(recorder.pid());
  ASSERT_TRUE(guardian);
  ::kill(*guardian, SIGKILL);  // it would take the tracer out by itself
  recorder.kill_and_wait();
  pause_ms(300);
  ASSERT_FALSE(target.finished());
  EXPECT_FALSE(code_of(target.pid()) == before);
  const Outcome detached = fathom({"detach", "-p", std::to_string(target.pid())});
  EXPECT_TRUE(detached.ok()) << detached.describe();
  EXPECT_TRUE(code_of(target.pid()) == before);
  EXPECT_GT(HeapAnswer(recording_).all().calls, 100);  // up to the last second
  pause_ms(200);
  EXPECT_FALSE(target.finished());
  const Outcome again = fathom({"detach", "-p", std::to_string(target.pid())});
  EXPECT_EQ(again.exit_status, 3) << again.describe();
}

TEST_F(HeapTruth, ASecondProfilerIsRefused) {
  FATHOM_NEEDS_BPF();
  FATHOM_NEEDS_HEAP_TRACING();
  const Running target({KNOWN_HEAP, "100000000", "2"});
  pause_ms(200);
  Running recorder = start_recording(recording_, {"--heap", "-p", std::to_string(target.pid())});
  pause_ms(1500);
  const Outcome second =
      fathom({"record", "--heap", "-d", "1", "-o", folder_ / "y.fathom", "-p", std::to_string(target.pid())});
  EXPECT_NE(second.exit_status, 0);
  EXPECT_NE(second.errors.find("try:"), std::string::npos) << second.describe();
  recorder.send(SIGINT);
  EXPECT_TRUE(recorder.wait(milliseconds(10'000)).ok());
}

TEST_F(HeapTruth, ADryRunChangesNothing) {
  FATHOM_NEEDS_BPF();
  FATHOM_NEEDS_HEAP_TRACING();
  const Running target({KNOWN_HEAP, "100000000", "2"});
  pause_ms(200);
  const std::string before = code_of(target.pid());
  const int mappings = mappings_of(target.pid());
  const Outcome outcome = fathom({"record", "--heap", "--dry-run", "-p", std::to_string(target.pid())});
  EXPECT_TRUE(outcome.ok()) << outcome.describe();
  EXPECT_NE(outcome.output.find("malloc"), std::string::npos) << outcome.describe();
  EXPECT_NE(outcome.output.find("libc.so.6"), std::string::npos) << outcome.describe();
  EXPECT_TRUE(code_of(target.pid()) == before);
  EXPECT_NEAR(mappings_of(target.pid()), mappings, 3);  // its own threads come and go
}

}  // namespace
}  // namespace fathom::support
