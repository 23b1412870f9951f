#include "analysis/summary/heap_report.h"

#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/heap/hand_made_heap.h"
#include "analysis/summary/report.h"
#include "present/sentences/heap_sentences.h"
#include "present/sentences/heap_verdict_sentences.h"
#include "present/sentences/report_sentences.h"

namespace fathom::analysis {
namespace {

using model::Metric;
using testing::HasSubstr;
using testing::Not;

std::string heap_summary_of(const model::Profile& profile, const Selection& selection = {}) {
  return fmt::format("{}", fmt::join(present::sentences_of(*make_heap_report(profile, selection)), "\n"));
}
std::string heap_findings_of(const model::Profile& profile) {
  const auto report = make_heap_report(profile, {});
  std::string text;
  for (const HeapFinding& finding : report->findings)
    text += (text.empty() ? "" : "\n") + present::text_of(finding, *report);
  return text;
}

TEST(HeapReport, IsNotThereWhereTheHeapWasNotTraced) {
  EXPECT_FALSE(make_heap_report(small_server(), {}));
}

TEST(HeapReport, SaysWhatWasAllocatedWhatIsLiveAndWhatThePeakWasMadeOf) {
  const std::string text = heap_summary_of(small_heap().profile);
  EXPECT_THAT(text, HasSubstr("Every call of the allocators was recorded."));
  EXPECT_THAT(text,
              HasSubstr("It allocated 14.4 MiB in 61,160 calls in 3.00 s: 4.8 MiB/s and 20,387 calls/s."));
  EXPECT_THAT(
      text,
      HasSubstr(
          "Most of it was requested by server::load in server (53.0 %), request::parse in server (39.7 %)"));
  EXPECT_THAT(text, HasSubstr("At the end 979.1 KiB are live in 1,040 blocks"));
  EXPECT_THAT(text, HasSubstr("The peak was 1.50 s after the start: "));
  EXPECT_THAT(text, HasSubstr("78.5 % of the calls were temporary: freed before the thread allocated again; "
                              "most by request::parse in server (100.0 %)"));
  EXPECT_THAT(
      text,
      HasSubstr(
          ": freed before the thread allocated again; most by request::parse in server (100.0 %).\nThese numbers exclude blocks from before the recording: 50.0 MiB of anonymous memory were resident at that time"));
}

// jemalloc next to glibc; its freeing functions are unknown.
model::Profile with_unseen() {
  HandMadeHeap hand = small_heap();
  hand.hook(hand.allocator("mimalloc", {1}), "every function", model::HookKind::kNone,
            "its functions have no names here (--symbols DIR names them)");
  return hand.profile;
}

TEST(HeapReport, AnUntracedAllocatorIsReportedAsUnknown) {
  const model::Profile profile = with_unseen();
  const std::string text = heap_summary_of(profile);
  EXPECT_THAT(text,
              testing::StartsWith("There is an allocator that fathom cannot see: mimalloc in server, as "
                                  "its functions have no names here (--symbols DIR names them)."));
  EXPECT_THAT(
      text,
      HasSubstr("The rest covers glibc 2.36 and jemalloc 5.3.0 (_rjem_) only, with every call recorded."));
  EXPECT_THAT(text, Not(HasSubstr("Every call of the allocators")));
  EXPECT_EQ(heap_findings_of(profile), "") << "it is said once";
  const auto report = make_heap_report(profile, {});
  for (const HeapVerdict& verdict : report->verdicts)
    EXPECT_THAT(present::sentence_of(verdict), Not(testing::StartsWith("The heap")))
        << "not all of it is seen";
}

TEST(HeapReport, WhereNoAllocatorIsSeenSaysNothingElse) {
  HandMade server;
  model::Heap row;
  row.start_ns = row.end_ns = server.profile.meta.start_ns;
  const auto module = server.module("server", model::ModuleKind::kFile, model::SymbolSource::kNone);
  server.process(10, "server");
  server.profile.heap.heaps.push_back(row);
  server.profile.heap.allocators.push_back({server.builder.string("mimalloc"), module});
  server.profile.heap.hooks.push_back({{1},
                                       server.builder.string("every function"),
                                       server.builder.string("it is stripped"),
                                       model::HookKind::kNone});
  EXPECT_EQ(
      heap_summary_of(server.profile),
      "There is an allocator that fathom cannot see: mimalloc in server, as it is stripped. It is unknown whether its blocks leak.");
}

TEST(HeapReport, OfSamplesSaysHowCertainItIs) {
  const std::string text = heap_summary_of(small_heap(model::HeapMode::kSampled).profile);
  EXPECT_THAT(text, HasSubstr("The heap was sampled, one byte in 512.0 KiB; ± is the 95 % interval."));
  EXPECT_THAT(text, HasSubstr("It allocated 14.4 MiB ±5.6 MiB in 61,200 calls"));
  EXPECT_THAT(text, HasSubstr("freed within 1 ms"));
  EXPECT_THAT(text, HasSubstr("which may be chance"));
}

TEST(HeapReport, OfAProgramFromItsStartKnowsNoEarlierBlocks) {
  HandMadeHeap hand = small_heap();
  hand.profile.heap.heaps[0].from_start = true;
  EXPECT_THAT(heap_summary_of(hand.profile), HasSubstr("from the start of the program"));
  EXPECT_THAT(heap_summary_of(hand.profile), Not(HasSubstr("before the recording")));
}

TEST(HeapReport, MemoryReturnedByMadviseIsReportedByAllocatorAndByFunction) {
  HandMadeHeap hand = small_heap();
  EXPECT_THAT(heap_summary_of(hand.profile), Not(HasSubstr("madvise")));
  const auto program = hand.allocator(model::kMappedByProgram, {});
  const auto stack = hand.profile.heap.sites[2].stack;  // of server::load
  const auto mine = hand.site(stack, model::kNoThread, program);
  const auto other = hand.site(stack, {0}, program);
  hand.profile.heap.returns = {{{0}, {5, 1 << 20}}, {mine, {2, 2 << 20}}, {other, {1, 1 << 20}}};
  const auto report = make_heap_report(hand.profile, {});
  ASSERT_EQ(report->returns.size(), 2u);
  EXPECT_EQ(report->returns[0].allocator, "");
  EXPECT_EQ(report->returns[0].function, "server::load(std::string const&)");
  EXPECT_EQ(report->returns[0].calls, 3);
  EXPECT_EQ(report->returns[0].bytes, 3 << 20);
  EXPECT_EQ(report->returns[1].allocator, "jemalloc 5.3.0 (_rjem_)");
  EXPECT_THAT(
      heap_summary_of(hand.profile),
      HasSubstr("8 calls of madvise gave back 4.0 MiB that stay mapped, as far as they were resident: "
                "server::load(std::string const&) (75.0 %), jemalloc 5.3.0 (_rjem_) (25.0 %)."));
}

TEST(HeapReport, AnEmptyWindowIsReported) {
  EXPECT_THAT(heap_summary_of(small_heap().profile, {.from_ns = 60'000'000'000}), HasSubstr("are live"));
  HandMadeHeap empty;
  empty.process(1, "app");
  EXPECT_THAT(heap_summary_of(empty.profile), HasSubstr("Nothing was allocated in this time."));
}

// None of the samples says nothing of less than they are apart.
TEST(HeapReport, OfSamplesNothingSeenIsABoundAndNotNothing) {
  HandMadeHeap empty(model::HeapMode::kSampled);
  empty.process(1, "app");
  empty.profile.heap.heaps[0].mean_bytes = 512 << 10;
  EXPECT_THAT(heap_summary_of(empty.profile),
              HasSubstr("No block was sampled in this time: at most 1.5 MiB were allocated."));
  EXPECT_THAT(heap_summary_of(empty.profile), Not(HasSubstr("Nothing was allocated")));
}

TEST(HeapReport, OfSamplesNothingSeenIsABoundAlsoWherePlacesAreKnown) {
  HandMadeHeap idle(model::HeapMode::kSampled);
  idle.process(1, "redis-server");
  idle.profile.heap.heaps[0].mean_bytes = 512 << 10;
  idle.site(idle.stack({idle.frame(idle.module("redis-server"), {"main"})}));
  const std::string text = heap_summary_of(idle.profile);
  EXPECT_THAT(text, HasSubstr("No block was sampled in this time: at most 1.5 MiB were allocated."));
  EXPECT_THAT(text, Not(HasSubstr("Every call of the allocators was recorded")));
  idle.profile.heap.heaps[0].mean_bytes = 0;  // of a program that made no call it is not known
  EXPECT_THAT(heap_summary_of(idle.profile), HasSubstr("No block was sampled in this time."));
}

TEST(HeapReport, FindsWhatMakesItWorthLess) {
  HandMadeHeap hand = small_heap();
  EXPECT_EQ(heap_findings_of(hand.profile), "");
  model::Heap& heap = hand.profile.heap.heaps[0];
  heap.events = 100'000;
  heap.lost_ring_full = 5'000;
  heap.unwalked = 2'000;
  heap.unseen_frees = 1'000;
  heap.merged_sites = 3;
  heap.lost_damaged = 1;
  heap.switched_off = true;
  hand.hook({1}, "pvalloc", model::HookKind::kNone, "shorter than a jump");
  const std::string text = heap_findings_of(hand.profile);
  EXPECT_THAT(
      text,
      HasSubstr(
          "Heap: 5,000 of 105,000 events were lost (5,000 found no room); 1 ring was given up because the content was invalid: live memory is not exact."));
  EXPECT_THAT(text, HasSubstr("2.0 % of the events have no stack"));
  EXPECT_THAT(
      text,
      HasSubstr(
          "hat were live before may have been freed since.\nToo many call sites allocate: 3 allocations are counted without a site.\n2.0 % of the events have no stack.\n1,000 frees were missed: a function that frees memory was not hooked."));
  EXPECT_THAT(text, HasSubstr("Too many call sites allocate: 3 allocations are counted without a site."));
  EXPECT_THAT(text, HasSubstr("1 ring was given up"));
  EXPECT_THAT(text, HasSubstr("the end was not recorded because fathom did not respond"));
  EXPECT_THAT(
      text,
      HasSubstr(
          "re may have been freed since.\nToo many call sites allocate: 3 allocations are counted without a site.\n2.0 % of the events have no stack.\n1,000 frees were missed: a function that frees memory was not hooked.\nglibc 2.36: pvalloc (shorter than a jump) could not be hooked; blocks that pass only through it are missing."));
}

TEST(HeapReport, OneLostEventIsEnoughForNothingToBeCalledExact) {
  EXPECT_THAT(heap_summary_of(small_heap().profile), HasSubstr("Every call of the allocators was recorded"));
  for (const auto lose : {+[](model::HeapTables& heap) { heap.heaps[0].lost_ring_full = 1; },
                          +[](model::HeapTables& heap) { heap.heaps[0].lost_no_ring = 1; },
                          +[](model::HeapTables& heap) { heap.heaps[0].lost_throwing = 1; },
                          +[](model::HeapTables& heap) { heap.heaps[0].lost_damaged = 1; },
                          +[](model::HeapTables& heap) { heap.heaps[0].switched_off = true; },
                          +[](model::HeapTables& heap) {
                            heap.outages.push_back({{0}, heap.heaps[0].start_ns, heap.heaps[0].start_ns + 1});
                          }}) {
    HandMadeHeap hand = small_heap();
    lose(hand.profile.heap);
    const std::string summary = heap_summary_of(hand.profile);
    EXPECT_THAT(summary, Not(HasSubstr("Every call")));
    EXPECT_THAT(summary, HasSubstr("not every one"));
    EXPECT_THAT(summary, HasSubstr("(in the part that was recorded)"));
    EXPECT_NE(heap_findings_of(hand.profile), "");
    const HeapReport report = *make_heap_report(hand.profile, {});
    EXPECT_FALSE(report.peak_exact);
    for (const HeapVerdict& verdict : report.verdicts)
      EXPECT_THAT(fmt::format("{}", fmt::join(present::evidence_of(verdict), " ")),
                  Not(HasSubstr("exact to the event")));
  }
}

TEST(HeapReport, IsPartOfAReportOfAnyMetricAndItsDefaultIsThePeakOrWhatIsLive) {
  HandMadeHeap hand = small_heap();
  EXPECT_EQ(default_metric(hand.profile), Metric::kHeapLive);
  hand.profile.heap.heaps[0].from_start = true;
  EXPECT_EQ(default_metric(hand.profile), Metric::kHeapPeak);
  hand.sample({0}, {1}, 10);
  EXPECT_EQ(default_metric(hand.profile), Metric::kCpu);
  const Report report = make_report(hand.profile, {}).value();
  ASSERT_TRUE(report.heap);
  EXPECT_THAT(fmt::format("{}", fmt::join(present::sentences_of(report), " ")),
              HasSubstr("It allocated 14.4 MiB"));
}

// Of blocks that were never freed everything grows, and of those that lived for a moment nothing does.
TEST(HeapReport, HasNoVerdictOfBlocksThatWereChosenByWhatBecameOfThem) {
  HandMadeHeap hand = small_heap();
  const auto report_of = [&](const char* by) {
    hand.profile.meta.facts["heap blocks"] = "that were never freed";
    hand.profile.meta.facts["heap blocks by"] = by;
    return make_heap_report(hand.profile, {}).value();
  };
  EXPECT_FALSE(report_of("place").verdicts.empty());
  const HeapReport of_fate = report_of("fate");
  EXPECT_TRUE(of_fate.verdicts.empty());
  EXPECT_EQ(of_fate.block_choice, "that were never freed");
}

// sh -c 'cd /srv && ./server': the shell was traced, and the server that it forked was not, without a word.
TEST(HeapReport, NamesForkedProcessesThatWereNotTraced) {
  HandMadeHeap hand = small_heap();
  EXPECT_THAT(heap_findings_of(hand.profile), Not(HasSubstr("not traced")));
  const auto add = [&](std::int32_t pid, std::int32_t parent, const char* name, std::uint64_t cpu_ns) {
    const auto process = hand.process(pid, name);
    hand.profile.processes[process.value].parent_pid = parent;
    hand.profile.processes[process.value].start_ns = hand.profile.meta.start_ns + 1;
    hand.thread(process, pid, name, cpu_ns);
  };
  add(20, 10, "helper", 1);
  add(21, 20, "worker", 1'000'000);
  add(22, 5, "stranger", 1'000'000);
  EXPECT_THAT(heap_findings_of(hand.profile),
              HasSubstr("Heap: 2 forked processes were not traced: worker, helper."));
  // A verdict claims no more than the data shows.
  const HeapReport report = make_heap_report(hand.profile, {}).value();
  ASSERT_FALSE(report.verdicts.empty());
  EXPECT_TRUE(report.verdicts.front().facts.traced_part);
}

}  // namespace
}  // namespace fathom::analysis
