// Programs whose allocator is linked in and has lost its names: found by its code, tried in a private copy, and then
// traced to the byte, as that of the unstripped twin is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "attach/inject/live/testing_breakpoints.h"
#include "linux/process/testing_namespaces.h"
#include "support/environment.h"
#include "support/fathom_program.h"
#include "support/heap_answer.h"
#include "support/process_code.h"

namespace fathom::support {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

class NamelessHeap : public testing::Test {
 protected:
  NamelessHeap(std::string twin, std::string label) : twin_(std::move(twin)), label_(std::move(label)) {}
  void SetUp() override { FATHOM_NEEDS_NAMESPACES(); }
  // Names come afterwards, from the unstripped twin.
  HeapAnswer named() {
    const std::string path = folder_ / "named.fathom";
    const Outcome outcome = fathom({"symbolize", recording_, "--symbols", twin_, "-o", path});
    if (!outcome.ok()) throw std::runtime_error(outcome.describe());
    return HeapAnswer(path);
  }
  void expect_equal(const Outcome& program, const std::set<std::string>& without = {}) {
    const HeapAnswer answer = named();
    EXPECT_THAT(answer.allocators(), Contains(testing::StartsWith(label_)));
    const auto calls = answer_of(program, "calls"), bytes = answer_of(program, "bytes"),
               live = answer_of(program, "live_bytes");
    for (const auto& [site, count] : calls) {
      if (without.contains(site)) continue;
      const HeapNumbers numbers = answer.below(site);
      // It resizes to nothing: glibc and jemalloc free, mimalloc gives a block of no bytes.
      const bool twice = site == "site_shrunk" && label_ == "mimalloc";
      EXPECT_EQ(numbers.calls, twice ? 2 * count : count) << site;
      EXPECT_EQ(numbers.bytes, bytes.at(site)) << site;
      EXPECT_EQ(numbers.live_bytes, live.at(site)) << site;
    }
    EXPECT_GT(live.at("site_leaked"), 0);
    EXPECT_EQ(answer.heap().unseen_frees, 0) << answer.losses();
    EXPECT_EQ(answer.heap().invalid_frees, 0) << answer.losses();
  }
  void expect_a_command_to_the_byte() {
    FATHOM_NEEDS_BPF();
    FATHOM_NEEDS_HEAP_TRACING();
    const Outcome outcome =
        fathom({"record", "--heap=exact", "--lossless", "-o", recording_, "--", program_, "2000", "2"});
    ASSERT_TRUE(outcome.ok()) << outcome.describe();
    EXPECT_THAT(outcome.errors, HasSubstr("found by its code"));
    EXPECT_THAT(outcome.errors, Not(HasSubstr("is not traced")));
    expect_equal(outcome);
    // The recording has that, too.
    EXPECT_THAT(fathom({"report", recording_, "--json"}).output,
                HasSubstr("in a private copy of the program"));
  }
  void expect_a_running_program_to_the_byte() {
    FATHOM_NEEDS_BPF();
    FATHOM_NEEDS_HEAP_TRACING();
    Running target({program_, "2000", "3", folder_ / "go"});
    pause_ms(200);
    Running recorder =
        start_recording(recording_, {"-p", std::to_string(target.pid()), "--heap=exact", "--lossless"});
    wait_until([&] { return recorder.errors_so_far().find("found by its code") != std::string::npos; },
               milliseconds(10'000));
    std::ofstream(folder_ / "go") << "go";
    const Outcome outcome = target.wait(milliseconds(60'000));
    ASSERT_TRUE(outcome.ok()) << outcome.describe();
    ASSERT_TRUE(recorder.wait(milliseconds(20'000)).ok());
    expect_equal(outcome, {"site_constructor"});
  }
  void expect_it_is_as_it_was_afterwards() {
    FATHOM_NEEDS_BPF();
    FATHOM_NEEDS_HEAP_TRACING();
    const Running other({program_, "100000000", "3"});
    pause_ms(300);
    const std::string before = code_of(other.pid());
    ASSERT_TRUE(
        fathom({"record", "--heap", "-d", "0.5", "-o", recording_, "-p", std::to_string(other.pid())}).ok());
    EXPECT_GT(HeapAnswer(recording_).all().calls, 100);
    EXPECT_FALSE(other.finished());
    EXPECT_TRUE(code_of(other.pid()) == before);
    EXPECT_EQ(tracer_mappings_of(other.pid()), 0);
  }

  std::string twin_, label_, program_ = twin_ + "_stripped";
  TempDir folder_;
  std::string recording_ = folder_ / "x.fathom";
};

#ifdef NAMED_MIMALLOC_HEAP
class HeapNamelessMimalloc : public NamelessHeap {
 protected:
  HeapNamelessMimalloc() : NamelessHeap(NAMED_MIMALLOC_HEAP, "mimalloc") {}
};
TEST_F(HeapNamelessMimalloc, ACommandToTheByte) {
  expect_a_command_to_the_byte();
}
TEST_F(HeapNamelessMimalloc, ARunningProgramToTheByte) {
  expect_a_running_program_to_the_byte();
}
TEST_F(HeapNamelessMimalloc, ARunningProgramIsAsItWasAfterwards) {
  expect_it_is_as_it_was_afterwards();
}
#else
TEST(HeapNamelessMimalloc, ACommandToTheByte) {
  GTEST_SKIP() << "needs the source of mimalloc, which is not unpacked";
}
#endif

#ifdef NAMED_TCMALLOC_HEAP
class HeapNamelessTcmalloc : public NamelessHeap {
 protected:
  HeapNamelessTcmalloc() : NamelessHeap(NAMED_TCMALLOC_HEAP, "tcmalloc 2.") {}
};
TEST_F(HeapNamelessTcmalloc, ACommandToTheByte) {
  expect_a_command_to_the_byte();
}
TEST_F(HeapNamelessTcmalloc, ARunningProgramToTheByte) {
  expect_a_running_program_to_the_byte();
}
TEST_F(HeapNamelessTcmalloc, ARunningProgramIsAsItWasAfterwards) {
  expect_it_is_as_it_was_afterwards();
}
#else
TEST(HeapNamelessTcmalloc, ACommandToTheByte) {
  GTEST_SKIP() << "needs libtcmalloc.a of libgoogle-perftools-dev, which is not installed";
}
#endif

#ifdef TWO_ALLOCATORS
class HeapNamelessTwo : public NamelessHeap {
 protected:
  explicit HeapNamelessTwo(std::string twin = TWO_ALLOCATORS) : NamelessHeap(std::move(twin), "mimalloc") {}
  void expect_both_to_the_byte() {
    FATHOM_NEEDS_BPF();
    FATHOM_NEEDS_HEAP_TRACING();
    const Outcome outcome =
        fathom({"record", "--heap=exact", "--lossless", "-o", recording_, "--", program_, "3000"});
    ASSERT_TRUE(outcome.ok()) << outcome.describe();
    EXPECT_THAT(outcome.errors, HasSubstr("jemalloc 5.3.0: found by its code"));
    EXPECT_THAT(outcome.errors, HasSubstr("mimalloc: found by its code"));
    EXPECT_THAT(outcome.errors, Not(HasSubstr("is not traced")));
    const HeapAnswer answer = named();
    EXPECT_THAT(answer.allocators(), testing::IsSupersetOf({"jemalloc 5.3.0", "mimalloc"}));
    const auto calls = answer_of(outcome, "calls"), bytes = answer_of(outcome, "bytes"),
               live = answer_of(outcome, "live_bytes");
    EXPECT_EQ(calls.size(), 6u);
    for (const auto& [site, count] : calls) {
      const HeapNumbers numbers = answer.below(site);
      EXPECT_EQ(numbers.calls, count) << site;
      EXPECT_EQ(numbers.bytes, bytes.at(site)) << site;
      EXPECT_EQ(numbers.live_bytes, live.at(site)) << site;
    }
    EXPECT_EQ(answer.heap().unseen_frees, 0) << answer.losses();
    EXPECT_EQ(answer.heap().invalid_frees, 0) << answer.losses();
  }
};
TEST_F(HeapNamelessTwo, BothOfOneFileToTheByte) {
  expect_both_to_the_byte();
}
// The names that are left, malloc and free, speak against jemalloc until they are known to be those of mimalloc.
class HeapNamelessSwapped : public HeapNamelessTwo {
 protected:
  HeapNamelessSwapped() : HeapNamelessTwo(TWO_SWAPPED) {}
};
TEST_F(HeapNamelessSwapped, BothOfOneFileToTheByte) {
  expect_both_to_the_byte();
}
TEST_F(HeapNamelessTwo, TheDoctorSaysByWhatEvidenceOfEach) {
  FATHOM_NEEDS_HEAP_TRACING();
  const Running target({program_, "1", folder_ / "never"});
  pause_ms(300);
  const json found = json::parse(fathom({"doctor", "-p", std::to_string(target.pid()), "--json"}).output);
  std::set<std::string> with_evidence;
  for (const json& each : found.at("target").at("allocators"))
    if (each.contains("evidence")) with_evidence.insert(each.at("label"));
  EXPECT_THAT(with_evidence, testing::ElementsAre("jemalloc 5.3.0", "mimalloc"));
}
#else
TEST(HeapNamelessTwo, BothOfOneFileToTheByte) {
  GTEST_SKIP() << "needs libjemalloc_pic.a of libjemalloc-dev and the source of mimalloc";
}
#endif

#ifdef NAMELESS_HEAP
class HeapNameless : public NamelessHeap {
 protected:
  HeapNameless() : NamelessHeap(NAMED_HEAP, "jemalloc 5.3.0") {}
};
TEST_F(HeapNameless, ACommandToTheByte) {
  expect_a_command_to_the_byte();
}
TEST_F(HeapNameless, ARunningProgramToTheByte) {
  expect_a_running_program_to_the_byte();
}
TEST_F(HeapNameless, ARunningProgramIsAsItWasAfterwards) {
  expect_it_is_as_it_was_afterwards();
}

TEST_F(HeapNameless, IsNotTracedWhereNoCopyMayBeStarted) {
  FATHOM_NEEDS_HEAP_TRACING();
  const Outcome outcome = fathom(
      {"record", "--heap=exact", "--cpu", "--no-trial", "-o", recording_, "--", NAMELESS_HEAP, "10", "1"});
  ASSERT_TRUE(outcome.ok()) << outcome.describe();
  EXPECT_THAT(outcome.errors, HasSubstr("is not traced"));
  EXPECT_THAT(outcome.errors, HasSubstr("--no-trial forbids"));
  EXPECT_THAT(outcome.errors, HasSubstr("--symbols DIR"));
  EXPECT_EQ(HeapAnswer(recording_).below("site_leaked").calls, 0);
}

// A set-uid or set-gid program is never started by another user.
TEST_F(HeapNameless, IsNotTracedWhereTheProgramHasRightsOfItsOwn) {
  FATHOM_NEEDS_HEAP_TRACING();
  const std::string path = folder_ / "privileged";
  std::filesystem::copy_file(NAMELESS_HEAP, path);
  using std::filesystem::perms;
  std::filesystem::permissions(path, perms::set_uid, std::filesystem::perm_options::add);
  const Running target({path, "1", "1", folder_ / "never"});
  pause_ms(200);
  const Outcome outcome = fathom({"doctor", "-p", std::to_string(target.pid()), "--json"});
  const json found = json::parse(outcome.output).at("target").at("unseen_allocators");
  ASSERT_EQ(found.size(), 1u) << outcome.output;
  EXPECT_THAT(std::string(found.at(0).at("why")), HasSubstr("rights of its own"));
}

TEST_F(HeapNameless, TheDoctorSaysByWhatEvidence) {
  FATHOM_NEEDS_HEAP_TRACING();
  const Running target({NAMELESS_HEAP, "1", "1", folder_ / "never"});
  pause_ms(200);
  const std::vector<std::string> asked{"doctor", "-p", std::to_string(target.pid())};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), asked.begin(), asked.end());
    return fathom(more);
  };
  const Outcome outcome = with({"--json"});
  json entries;
  const json found = json::parse(outcome.output);
  for (const json& each : found.at("target").at("allocators"))
    if (each.contains("evidence")) entries = each;
  ASSERT_TRUE(entries.is_object()) << outcome.output;
  EXPECT_THAT(std::string(entries.at("label")), HasSubstr("jemalloc"));
  EXPECT_THAT(std::string(entries.at("evidence")), HasSubstr("tables of sizes are the same in the process"));
  for (const char* name : {"malloc", "calloc", "realloc", "free"})
    EXPECT_THAT(entries.at("functions"), Contains(name));
  EXPECT_THAT(with({}).output, HasSubstr("found by its code"));
  EXPECT_THAT(with({"--no-trial"}).output, HasSubstr("--no-trial forbids"));
}
// What reaches its allocator as a program in Rust does.
class HeapNamelessAtWork : public NamelessHeap {
 protected:
  HeapNamelessAtWork() : NamelessHeap(SHIM_HEAP, "jemalloc 5.3.0") {}
  void SetUp() override { FATHOM_NEEDS_BREAKPOINTS(); }
  std::string go() const { return folder_ / "go"; }
  Running start(const std::string& program, const std::string& how) {
    Running target({program, "2000", go(), how});
    pause_ms(300);
    return target;
  }
  Outcome doctor(const Running& target, std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"doctor", "-p", std::to_string(target.pid())});
    return fathom(more);
  }
  void expect_traced_to_the_byte(const std::string& program, const std::vector<std::string>& options) {
    FATHOM_NEEDS_BPF();
    FATHOM_NEEDS_HEAP_TRACING();
    Running target = start(program, "");
    std::vector<std::string> arguments{"-p", std::to_string(target.pid()), "--heap=exact", "--lossless"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    Running recorder = start_recording(recording_, arguments);
    wait_until([&] { return recorder.errors_so_far().find("found by its code") != std::string::npos; },
               milliseconds(20'000));
    std::ofstream(go()) << "go";
    const Outcome outcome = target.wait(milliseconds(60'000));
    ASSERT_TRUE(outcome.ok()) << outcome.describe();
    const Outcome recorded = recorder.wait(milliseconds(20'000));
    ASSERT_TRUE(recorded.ok()) << recorded.describe();
    // After a trial a busy machine may leave too little time to see enough.
    EXPECT_THAT(recorded.errors, HasSubstr("at work in the process ("));
    const HeapAnswer answer = named();
    EXPECT_THAT(answer.allocators(), Contains(testing::StartsWith(label_)));
    const auto calls = answer_of(outcome, "calls"), bytes = answer_of(outcome, "bytes");
    const auto live = answer_of(outcome, "live_bytes");
    EXPECT_EQ(calls.size(), 5u);
    for (const auto& [site, count] : calls) {
      const HeapNumbers numbers = answer.below(site);
      EXPECT_EQ(numbers.calls, count) << site;
      EXPECT_EQ(numbers.bytes, bytes.at(site)) << site;
      EXPECT_EQ(numbers.live_bytes, live.at(site)) << site;
    }
    EXPECT_GT(live.at("site_leaked"), 0);
    EXPECT_EQ(answer.heap().invalid_frees, 0) << answer.losses();
    // The recording has that, too.
    EXPECT_THAT(fathom({"report", recording_, "--json"}).output, HasSubstr("at work in the process ("));
  }
};

TEST_F(HeapNamelessAtWork, WithoutATrialToTheByte) {
  expect_traced_to_the_byte(program_, {"--no-trial"});
}

TEST_F(HeapNamelessAtWork, WithRightsOfItsOwnToTheByte) {
  const std::string path = folder_ / "privileged";
  std::filesystem::copy_file(program_, path);
  using std::filesystem::perms;
  std::filesystem::permissions(path, perms::set_uid, std::filesystem::perm_options::add);
  expect_traced_to_the_byte(path, {});
}

TEST_F(HeapNamelessAtWork, AfterATrialToTheByte) {
  FATHOM_NEEDS_NAMESPACES();
  expect_traced_to_the_byte(program_, {});
}

TEST_F(HeapNamelessAtWork, TheDoctorSaysWhatWasSeen) {
  FATHOM_NEEDS_HEAP_TRACING();
  const Running target = start(program_, "");
  EXPECT_THAT(doctor(target, {"--no-trial"}).output,
              HasSubstr("and they were not tried (--no-trial forbids"));
  const json found =
      json::parse(doctor(target, {"--no-trial", "--json"}).output).at("target").at("allocators");
  std::string evidence;
  for (const json& each : found)
    if (each.contains("evidence")) evidence = each.at("evidence");
  EXPECT_THAT(evidence, HasSubstr("seen at work in the process ("));
  EXPECT_THAT(evidence, HasSubstr("each with its size"));
  EXPECT_FALSE(target.finished());
}

TEST_F(HeapNamelessAtWork, AQuietOneIsRefusedWithWhatWouldHelp) {
  FATHOM_NEEDS_HEAP_TRACING();
  const Running target = start(program_, "quiet");
  const Outcome outcome = doctor(target, {"--no-trial", "--json"});
  const json found = json::parse(outcome.output).at("target").at("unseen_allocators");
  ASSERT_EQ(found.size(), 1u) << outcome.output;
  EXPECT_THAT(std::string(found.at(0).at("why")), HasSubstr("nothing was called"));
  EXPECT_THAT(std::string(found.at(0).at("why")), HasSubstr("give the program work in the meantime"));
}

// The trial says what its functions do. Calls that contradict it are a doubt all the same.
TEST_F(HeapNamelessAtWork, CallsThatContradictTheTrialAreADoubt) {
  FATHOM_NEEDS_NAMESPACES();
  FATHOM_NEEDS_HEAP_TRACING();
  const Running target = start(program_, "absurd");
  std::string why;
  // Where other programs take the CPUs, a look may see nothing.
  wait_until(
      [&] {
        const Outcome outcome = doctor(target, {"--json"});
        const json found = json::parse(outcome.output).at("target").at("unseen_allocators");
        if (!found.empty()) why = found.at(0).at("why");
        return !why.empty();
      },
      milliseconds(20'000));
  EXPECT_THAT(why, HasSubstr("sizes asked for are none"));
}

// It is watched for two seconds, as nothing is called.
TEST_F(HeapNamelessAtWork, AKilledProfilerLeavesItRunningAndItsRegistersFree) {
  FATHOM_NEEDS_HEAP_TRACING();
  const Running target = start(program_, "quiet");
  const auto free_registers = [&] { return inject::testing::free_registers(target.pid(), 0x10000); };
  const Running profiler(fathom_command({"doctor", "-p", std::to_string(target.pid()), "--no-trial"}));
  wait_until([&] { return free_registers() == 0; }, milliseconds(20'000));
  EXPECT_FALSE(profiler.finished());
  profiler.send(SIGKILL);
  wait_until([&] { return free_registers() == 4; }, milliseconds(20'000));
  EXPECT_EQ(free_registers(), 4u);
  EXPECT_FALSE(target.finished());
}

TEST_F(HeapNamelessAtWork, ItsRegistersAreFreeAfterwards) {
  FATHOM_NEEDS_HEAP_TRACING();
  const Running target = start(program_, "");
  ASSERT_THAT(doctor(target, {"--no-trial"}).output, HasSubstr("seen at work"));
  EXPECT_EQ(inject::testing::free_registers(target.pid(), 0x10000), 4u);
  EXPECT_FALSE(target.finished());
}

#else
TEST(HeapNameless, ACommandToTheByte) {
  GTEST_SKIP() << "needs libjemalloc_pic.a of libjemalloc-dev, which is not installed";
}
#endif

}  // namespace
}  // namespace fathom::support
