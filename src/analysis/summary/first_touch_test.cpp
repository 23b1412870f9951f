#include "analysis/summary/first_touch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "analysis/core/hand_made_profile.h"
#include "analysis/summary/memory_problem.h"
#include "analysis/summary/problem_class.h"
#include "analysis/summary/resident.h"
#include "present/sentences/memory_summary_sentences.h"
#include "present/sentences/problem_sentences.h"

namespace fathom::analysis {
namespace {

// A recording of 10 s. Each fault stands for 64 pages.
struct Faulting : HandMade {
  Faulting() {
    app = module("app");
    libc = module("libc.so.6");
    worker = thread(process(10, "app"), 10, "app");
  }
  void touches(const std::string& function, double at_s, int faults,
               model::ObjectKind kind = model::ObjectKind::kMemory, std::string_view file = "x") {
    const auto touched = stack({frame(app, {"main"}), frame(app, {function}), frame(libc, {"memset"})});
    for (int i = 0; i < faults; ++i) {
      model::Fault fault;
      fault.time_ns =
          profile.meta.start_ns + static_cast<std::uint64_t>(at_s * 1e9) + static_cast<unsigned>(i);
      fault.thread = worker;
      fault.stack = touched;
      fault.object = object(kind, file);
      fault.weight = 64;
      profile.faults.push_back(fault);
    }
  }
  // nothing, or the name and the share in percent.
  std::string found() const {
    const auto touch = find_first_touch(profile, {});
    return touch ? touch->site + " " + std::to_string(static_cast<int>(touch->share * 100)) : "";
  }
  model::ModuleId app, libc;
  model::ThreadId worker;
};

TEST(FirstTouch, IsTheOwnFunctionThatTouchesMostNewPages) {
  Faulting faulting;
  faulting.touches("grow_arena", 6, 30);
  faulting.touches("parse", 7, 10);
  EXPECT_EQ(faulting.found(), "grow_arena 75");
}

// A memfd is a file by its kind only: it grows as memory does.
TEST(FirstTouch, CountsPagesOfFilesThatExistInMemoryAlone) {
  Faulting faulting;
  faulting.touches("noise", 6, 10);
  faulting.touches("fill_store", 7, 30, model::ObjectKind::kMappedFile, "/memfd:store");
  EXPECT_EQ(faulting.found(), "fill_store 75");
  faulting.touches("read_index", 8, 100, model::ObjectKind::kMappedFile, "/data/index");
  EXPECT_EQ(faulting.found(), "fill_store 75");
}

// The shell of a stripped sqlite3: "an unnamed function of sqlite3 touches 100 % of the new pages first" helps no user.
TEST(FirstTouch, OfCodeWithoutNamesIsWhatItCalls) {
  Faulting faulting;
  const auto shell = faulting.unnamed(faulting.app, 0x2080);
  const auto library = faulting.module("libsqlite3.so");
  const auto touched = faulting.stack(
      {shell, faulting.frame(library, {"sqlite3_step"}), faulting.frame(faulting.libc, {"memset"})});
  faulting.touches("unused", 6, 30);
  for (model::Fault& fault : faulting.profile.faults) fault.stack = touched;
  EXPECT_EQ(faulting.found(), "sqlite3_step 100");
}

// A dictionary of Python that grows: "_PyObject_Malloc touches 86 % of the new pages first".
TEST(FirstTouch, IsOfWhatWantsTheMemoryAndNotOfAnAllocator) {
  Faulting faulting;
  const auto kernel = faulting.module("[kernel]", model::ModuleKind::kKernel);
  faulting.touches("unused", 6, 30);
  for (const char* allocator : {"_PyObject_Malloc", "ngx_palloc_large", "operator new(unsigned long)"}) {
    const auto touched = faulting.stack(
        {faulting.frame(faulting.app, {"main"}), faulting.frame(faulting.app, {"new_string"}),
         faulting.frame(faulting.app, {allocator}), faulting.frame(kernel, {"exc_page_fault"})});
    for (model::Fault& fault : faulting.profile.faults) fault.stack = touched;
    EXPECT_EQ(faulting.found(), "new_string 100") << allocator;
  }
}

TEST(FirstTouch, IsUnknownWithoutAMajorityOrWithFewFaults) {
  Faulting none, few, split;
  EXPECT_EQ(none.found(), "");
  few.touches("grow_arena", 6, 7);
  EXPECT_EQ(few.found(), "");
  split.touches("a", 6, 10);
  split.touches("b", 6, 9);
  split.touches("c", 6, 9);
  EXPECT_EQ(split.found(), "");
}

TEST(FirstTouch, LeavesOutTheStartAndPagesOfFiles) {
  Faulting faulting;
  faulting.touches("load", 0.1, 500);
  faulting.touches("scan", 6, 500, model::ObjectKind::kMappedFile);
  faulting.touches("grow_arena", 6, 10);
  EXPECT_EQ(faulting.found(), "grow_arena 100");
}

TEST(FirstTouch, IsNamedWhereResidentMemoryGrowsAndNowhereElse) {
  for (const bool grows : {true, false}) {
    Faulting faulting;
    faulting.touches("grow_arena", 6, 40);
    model::Series series{
        faulting.builder.string("memory.rss_anon"), faulting.builder.string("bytes"), 10, {}};
    for (unsigned i = 0; i <= 40; ++i)
      series.points.push_back({faulting.profile.meta.start_ns + i * 250'000'000ull,
                               (100.0 + (grows ? 5.0 * i : 0.0)) * (1 << 20)});
    faulting.profile.series.push_back(series);
    Report report;
    report.profile = &faulting.profile;
    report.resident = find_resident(faulting.profile, {});
    ProblemClass problem;
    problem.kind = ProblemKind::kSleep;
    problem.waits_known = true;
    problem.memory_problem = find_memory_problem(report);
    const std::string words = "grow_arena touches 100 % of the new pages first";
    EXPECT_EQ(present::sentence_of_resident(report).find(words) != std::string::npos, grows);
    EXPECT_EQ(
        present::sentence_of(problem).find("RSS grows by 20.0 MiB/s (" + words + ")") != std::string::npos,
        grows)
        << present::sentence_of(problem);
  }
}

}  // namespace
}  // namespace fathom::analysis
