#include "tools/doctor/diagnosis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tools/doctor/machine_probe.h"
#include "tools/doctor/present.h"

namespace fathom::doctor {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using Severity = Finding::Severity;

const Trial kYes{true, {}};
Trial no(const char* problem) {
  return {false, problem};
}

// Root on a bare machine: everything works.
MachineFacts root() {
  MachineFacts machine;
  machine.kernel = "6.1.0-18-amd64";
  machine.architecture = "x86_64";
  machine.cpus = 4;
  machine.own_path = "/usr/bin/fathom";
  machine.capabilities = ~std::uint64_t{0};
  machine.perf_event_paranoid = 2;
  machine.ring_bytes = 4 << 20;
  machine.record_bpf = machine.record_perf = machine.record_proc = machine.cpu_clock_without_admin = kYes;
  machine.bpf_program = machine.bpf_engine = machine.btf = machine.side_band = kYes;
  machine.cpu_clock_all = machine.cpu_clock_own = machine.cpu_clock_own_kernel = kYes;
  machine.cycles = machine.kernel_symbols = machine.heap_counter = machine.name_cache = kYes;
  return machine;
}

// An ordinary user with the usual perf_event_paranoid of 2.
MachineFacts user() {
  MachineFacts machine = root();
  machine.uid = 1000;
  machine.capabilities = 0;
  machine.bpf_program = no("bpf(BPF_PROG_LOAD): Operation not permitted");
  machine.bpf_engine = machine.record_bpf = machine.bpf_program;
  machine.side_band = machine.cpu_clock_all = machine.cpu_clock_own_kernel = no("Permission denied");
  machine.kernel_symbols = no("hidden");
  return machine;
}

TargetFacts redis() {
  TargetFacts target;
  target.process.pid = target.status.pid = 12;
  target.process.name = "redis-server";
  target.process.executable = "/usr/bin/redis-server";
  target.maps = target.memory = target.map_files = target.perf_event = target.perf_event_kernel = kYes;
  target.modules = {
      {.path = "/usr/bin/redis-server", .code_bytes = 2 << 20, .symbols = model::SymbolSource::kDwarf},
      {.path = "/lib/libc.so.6", .code_bytes = 1 << 20, .symbols = model::SymbolSource::kSymtab}};
  return target;
}

const Finding* find(const Diagnosis& diagnosis, Severity severity, const std::string& part) {
  for (const Finding& finding : diagnosis.findings) {
    if (finding.severity == severity && finding.text.find(part) != std::string::npos) return &finding;
  }
  return nullptr;
}

TEST(Diagnosis, RootUsesBpfAndNothingStandsInTheWay) {
  const Diagnosis diagnosis = diagnose(root(), nullptr);
  EXPECT_EQ(diagnosis.engine, "bpf");
  EXPECT_THAT(diagnosis.sentences.front(),
              StartsWith("fathom can record any process of this machine with engine bpf"));
  EXPECT_TRUE(diagnosis.findings.empty());
}

TEST(Diagnosis, KernelsBefore515SampleAndHaveNoProbes) {
  MachineFacts machine = root();
  machine.kernel = "5.10.0-32-amd64";
  machine.bpf_probes = no(
      "bpf: probes of functions need Linux 5.15 or later (bpf_get_attach_cookie); this is 5.10.0-32-amd64");
  const Diagnosis diagnosis = diagnose(machine, nullptr);
  EXPECT_EQ(diagnosis.engine, "bpf");
  const Finding* finding = find(diagnosis, Severity::kLimit, "--probe");
  ASSERT_NE(finding, nullptr);
  EXPECT_THAT(finding->text, HasSubstr("Linux 5.15"));
}

TEST(Diagnosis, UserUsesPerfAndLearnsWhatBpfNeeds) {
  const Diagnosis diagnosis = diagnose(user(), nullptr);
  EXPECT_EQ(diagnosis.engine, "perf");
  const Finding* finding = find(diagnosis, Severity::kObstacle, "BPF");
  ASSERT_NE(finding, nullptr);
  ASSERT_EQ(finding->remedies.size(), 2u);
  EXPECT_THAT(finding->remedies[0].command, StartsWith("sudo /usr/bin/fathom record"));
  EXPECT_THAT(finding->remedies[1].command, HasSubstr("setcap cap_bpf,cap_perfmon"));
  for (const Remedy& remedy : finding->remedies) EXPECT_NE(remedy.side_effects, "");
  const Finding* kernel_side = find(diagnosis, Severity::kLimit, "Time inside the kernel");
  ASSERT_NE(kernel_side, nullptr);
  EXPECT_EQ(kernel_side->remedies[0].command, "sudo sysctl kernel.perf_event_paranoid=1");
}

// Debian's default: what root may, and what a user may not.
MachineFacts paranoid(MachineFacts machine) {
  machine.perf_event_paranoid = 3;
  machine.cpu_clock_without_admin = no("Permission denied");
  if (machine.has(Capability::kSysAdmin)) return machine;
  machine.cpu_clock_own = machine.cpu_clock_own_kernel = machine.cpu_clock_all = machine.side_band =
      machine.record_bpf = machine.record_perf = no("Permission denied");
  return machine;
}

TEST(Diagnosis, ParanoidThreeLeavesAUserTheEngineProc) {
  const Diagnosis diagnosis = diagnose(paranoid(user()), nullptr);
  EXPECT_EQ(diagnosis.engine, "proc");
  EXPECT_THAT(diagnosis.sentences.front(),
              StartsWith("fathom can record your own processes with engine proc: where threads wait"));
  EXPECT_THAT(diagnosis.sentences[1], HasSubstr("kernel.perf_event_paranoid is 3"));
  const Finding* finding = find(diagnosis, Severity::kObstacle, "may not sample even their own");
  ASSERT_NE(finding, nullptr);
  EXPECT_THAT(finding->remedies[0].command, StartsWith("sudo /usr/bin/fathom record"));
  EXPECT_EQ(finding->remedies[1].command, "sudo sysctl kernel.perf_event_paranoid=2");
  ASSERT_EQ(finding->remedies.size(), 3U);
  EXPECT_THAT(finding->remedies[2].command, HasSubstr(" allow -d 10min"));
}

TEST(Diagnosis, ParanoidThreeIsNoObstacleToRoot) {
  const Diagnosis diagnosis = diagnose(paranoid(root()), nullptr);
  EXPECT_EQ(diagnosis.engine, "bpf");
  EXPECT_TRUE(diagnosis.findings.empty());
}

TEST(Diagnosis, CapPerfmonIsNotOfferedWhereTheKernelDemandsSysAdmin) {
  for (const bool capable : {false, true}) {
    MachineFacts machine = paranoid(user());
    if (capable) {
      machine.capabilities = std::uint64_t{3} << 38;  // CAP_PERFMON, CAP_BPF
      machine.bpf_program = machine.bpf_engine = kYes;
    }
    const Diagnosis diagnosis = diagnose(machine, nullptr);
    const Finding* finding =
        find(diagnosis, Severity::kObstacle, "needs CAP_BPF, CAP_PERFMON and CAP_SYS_ADMIN");
    ASSERT_NE(finding, nullptr);
    for (const Remedy& remedy : finding->remedies)
      EXPECT_TRUE(remedy.command.find("cap_perfmon") == std::string::npos ||
                  remedy.command.find("perf_event_paranoid=2") != std::string::npos)
          << remedy.command;
    EXPECT_THAT(finding->remedies.back().command, HasSubstr("setcap cap_sys_admin"));
  }
}

TEST(Diagnosis, CapabilitiesAreEnoughWhereTheKernelTreatsThreeAsTwo) {
  MachineFacts machine = user();
  machine.perf_event_paranoid = 3;
  const Diagnosis diagnosis = diagnose(machine, nullptr);
  EXPECT_EQ(diagnosis.engine, "perf");
  const Finding* finding = find(diagnosis, Severity::kObstacle, "needs CAP_BPF and CAP_PERFMON.");
  ASSERT_NE(finding, nullptr);
  EXPECT_THAT(finding->remedies[1].command, StartsWith("sudo setcap cap_bpf,cap_perfmon"));
}

TEST(Diagnosis, AnEngineThatLoadsAndDoesNotStartIsNotUsed) {
  MachineFacts machine = root();
  machine.record_bpf = no("perf_event_open (page faults): Permission denied");
  const Diagnosis diagnosis = diagnose(machine, nullptr);
  EXPECT_EQ(diagnosis.engine, "perf");
  EXPECT_NE(find(diagnosis, Severity::kObstacle, "does not start: perf_event_open (page faults)"), nullptr);
}

TEST(Diagnosis, RootInAContainerNeedsRightsFromOutside) {
  MachineFacts machine = user();
  machine.uid = 0;
  machine.container = process::Container{"docker", "abc"};
  machine.seccomp = 2;
  machine.initial_pid_namespace = false;
  machine.cpu_clock_own = machine.record_perf = no("Operation not permitted");
  const Diagnosis diagnosis = diagnose(machine, nullptr);
  EXPECT_EQ(diagnosis.engine, "proc");
  const Finding* finding = find(diagnosis, Severity::kObstacle, "root without CAP_BPF");
  ASSERT_NE(finding, nullptr);
  EXPECT_THAT(finding->remedies[0].command, HasSubstr("--cap-add BPF"));
  EXPECT_NE(find(diagnosis, Severity::kObstacle, "seccomp"), nullptr);
  EXPECT_NE(find(diagnosis, Severity::kLimit, "PID namespace"), nullptr);
}

TEST(Diagnosis, LockdownAndMissingTypesAreNamed) {
  MachineFacts machine = root();
  machine.bpf_engine = machine.record_bpf = no("refused");
  machine.lockdown = "confidentiality";
  EXPECT_NE(find(diagnose(machine, nullptr), Severity::kObstacle, "locked down"), nullptr);
  machine.lockdown = "none";
  machine.btf = no("no such file");
  const Diagnosis diagnosis = diagnose(machine, nullptr);
  const Finding* finding = find(diagnosis, Severity::kObstacle, "refuses fathom's programs");
  ASSERT_NE(finding, nullptr);
  EXPECT_THAT(finding->remedies[0].command, HasSubstr("CONFIG_DEBUG_INFO_BTF"));
  EXPECT_EQ(diagnosis.engine, "perf");
}

TEST(Diagnosis, AnotherUsersProcessNeedsRoot) {
  TargetFacts target = redis();
  target.status.uid = 102;
  target.maps = target.perf_event = target.perf_event_kernel = no("Permission denied");
  target.modules.clear();
  const Diagnosis diagnosis = diagnose(user(), &target);
  EXPECT_EQ(diagnosis.engine, "");
  const Finding* finding = find(diagnosis, Severity::kObstacle, "belongs to user 102");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->remedies[0].command, "sudo /usr/bin/fathom record -p 12");
  EXPECT_EQ(diagnosis.sentences[1], finding->text) << "the nearest obstacle comes first";
}

TEST(Diagnosis, HealthyTargetIsTwoSentences) {
  const TargetFacts target = redis();
  const Diagnosis diagnosis = diagnose(root(), &target);
  ASSERT_EQ(diagnosis.sentences.size(), 2u);
  EXPECT_THAT(diagnosis.sentences[0], StartsWith("fathom can record redis-server (pid 12) with engine bpf"));
  EXPECT_EQ(diagnosis.sentences[1], "2 of its 2 modules have all their function names.");
}

TEST(Diagnosis, StrippedProgramGetsAdviceOnNames) {
  TargetFacts target = redis();
  target.modules[0].symbols = model::SymbolSource::kPseudo;
  const Diagnosis diagnosis = diagnose(root(), &target);
  EXPECT_EQ(diagnosis.sentences[1], "1 of its 2 modules have all their function names; not so redis-server.");
  const Finding* finding = find(diagnosis, Severity::kLimit, "is stripped");
  ASSERT_NE(finding, nullptr);
  EXPECT_THAT(finding->remedies[0].command, HasSubstr("--symbols DIR"));
  EXPECT_THAT(finding->remedies[1].command, StartsWith("find-dbgsym-packages 12"));
}

TEST(Diagnosis, AProgramStrippedOfItsDebugInformationLacksLinesAndInlinedCalls) {
  TargetFacts target = redis();
  target.modules[0].symbols = model::SymbolSource::kSymtab;
  const Diagnosis diagnosis = diagnose(root(), &target);
  const Finding* finding = find(diagnosis, Severity::kNote, "lines and inlined calls are missing");
  ASSERT_NE(finding, nullptr);
  EXPECT_THAT(finding->remedies[0].command, HasSubstr("--symbols DIR"));
}

TEST(Diagnosis, MissingPartsOfDebugInformationAreNamedWithWhatBringsThemBack) {
  TargetFacts target = redis();
  target.modules[0].problem =
      "2 of 2 units asked for have their debug information in files that are not there (/b/x.dwo, ...)";
  const Diagnosis diagnosis = diagnose(root(), &target);
  const Finding* finding = find(diagnosis, Severity::kLimit, "/b/x.dwo");
  ASSERT_NE(finding, nullptr);
  EXPECT_THAT(finding->remedies[0].command, HasSubstr("PROGRAM.dwp"));
}

TEST(Diagnosis, FramePointersAreSaidNotToBeNeededWhereUnwindTablesAre) {
  TargetFacts target = redis();
  target.modules[0].unwind_table = target.modules[1].unwind_table = true;
  EXPECT_NE(find(diagnose(root(), &target), Severity::kNote, "Frame pointers are not needed"), nullptr);
  target.modules[1].unwind_table = false;
  EXPECT_NE(find(diagnose(root(), &target), Severity::kNote, "libc.so.6 has no unwind table"), nullptr);
}

TEST(Presentation, EachModuleHasItsBuildIdAndWhereItsNamesComeFrom) {
  const MachineFacts machine = root();
  TargetFacts target = redis();
  target.modules[0].build_id = "0123456789abcdef0123";
  target.modules[0].names_from = "debug file /usr/lib/debug/x.debug";
  target.modules[1].names_from = "its own .gnu_debugdata";
  const std::string text = to_text(diagnose(machine, &target), machine, &target);
  EXPECT_THAT(text, HasSubstr("0123456789ab  /usr/bin/redis-server\n"));
  EXPECT_THAT(text, HasSubstr("names from debug file /usr/lib/debug/x.debug\n"));
  EXPECT_THAT(text, HasSubstr("none          /lib/libc.so.6\n"));
  EXPECT_THAT(text, HasSubstr("names from its own .gnu_debugdata; missing: lines and inlined calls\n"));
  const auto json = nlohmann::json::parse(to_json(diagnose(machine, &target), machine, &target));
  EXPECT_EQ(json["target"]["modules"][0]["build_id"], "0123456789abcdef0123");
  EXPECT_TRUE(json["target"]["modules"][1]["build_id"].is_null());
  EXPECT_EQ(json["target"]["modules"][1]["missing"], "lines and inlined calls");
}

TEST(Diagnosis, LibrariesWithoutNamesAreOneNote) {
  TargetFacts target = redis();
  for (int i = 1; i <= 7; ++i)
    target.modules.push_back(
        {.path = "/usr/lib/liba" + std::to_string(i) + ".so", .symbols = model::SymbolSource::kDynsym});
  const Diagnosis diagnosis = diagnose(root(), &target);
  EXPECT_EQ(diagnosis.sentences[1], "2 of its 9 modules have all their function names.");
  ASSERT_EQ(diagnosis.findings.size(), 1u);
  EXPECT_THAT(
      diagnosis.findings[0].text,
      HasSubstr("of 7 libraries that are not exported have no names: liba1.so, liba2.so, liba3.so, liba4.so, "
                "liba5.so and others"));
  EXPECT_THAT(diagnosis.findings[0].remedies[0].command, StartsWith("find-dbgsym-packages 12"));
}

TEST(Diagnosis, ATargetWithHeapProbesIsNoted) {
  const MachineFacts machine = root();
  TargetFacts target = redis();
  target.heap_probes = {"/usr/lib/sampler.so: alloc at 2 places, free at 1 place"};
  target.heap_frees_told = true;
  target.heap_probe_problems = {"/usr/lib/sampler.so: otel_memory:alloc: it tells 2 of 3 values"};
  const std::string text = to_text(diagnose(machine, &target), machine, &target);
  EXPECT_THAT(
      text,
      HasSubstr(
          "It has otel_memory heap probes (/usr/lib/sampler.so: alloc at 2 places, free at 1 place): a sampled recording with engine bpf reads these and inserts nothing into the program."));
  EXPECT_THAT(text, HasSubstr("limit: /usr/lib/sampler.so: otel_memory:alloc: it tells 2 of 3 values."));
  target.heap_frees_told = false;
  const std::string without = to_text(diagnose(machine, &target), machine, &target);
  EXPECT_THAT(
      without,
      HasSubstr(
          "), but none for frees, so they cannot show live memory: fathom does not use them, and --heap inserts its tracer."));
  EXPECT_THAT(without, testing::Not(HasSubstr("listens to these")));
}

TEST(Diagnosis, RunTimeCodeReplacedFilesAndLimitsAreMentioned) {
  TargetFacts target = redis();
  target.anonymous_code_bytes = 1 << 20;
  target.modules[1].deleted = true;
  target.map_files = no("Operation not permitted");
  target.memory_limit_bytes = 512u << 20;
  target.status.tracer_pid = 99;
  const Diagnosis diagnosis = diagnose(root(), &target);
  EXPECT_NE(find(diagnosis, Severity::kLimit, "made at run time"), nullptr);
  EXPECT_NE(find(diagnosis, Severity::kLimit, "replaced"), nullptr);
  EXPECT_NE(find(diagnosis, Severity::kNote, "512 MiB"), nullptr);
  EXPECT_NE(find(diagnosis, Severity::kNote, "Process 99 traces it"), nullptr);
}

TEST(Diagnosis, SmallRingsMatterOnlyToTheEngineThatCopies) {
  MachineFacts machine = user();
  machine.ring_bytes = 512 << 10;
  EXPECT_NE(find(diagnose(machine, nullptr), Severity::kLimit, "lose samples"), nullptr);
  MachineFacts privileged = root();
  privileged.ring_bytes = 512 << 10;
  EXPECT_EQ(find(diagnose(privileged, nullptr), Severity::kLimit, "lose samples"), nullptr);
}

TEST(Diagnosis, ACacheThatIsRefusedIsALimitWithTheReason) {
  MachineFacts machine = root();
  EXPECT_EQ(find(diagnose(machine, nullptr), Severity::kLimit, "are not cached"), nullptr);
  machine.name_cache = no("/tmp/c: the folder is a symbolic link to /tmp/d");
  const Diagnosis diagnosis = diagnose(machine, nullptr);
  const Finding* finding =
      find(diagnosis, Severity::kLimit, "every recording looks them up again: /tmp/c: the folder is");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->remedies[0].command, "XDG_CACHE_HOME=FOLDER fathom record ...");
}

TEST(Diagnosis, ACounterThatOrdersNoEventsIsNotedWithTheReason) {
  MachineFacts machine = root();
  EXPECT_EQ(find(diagnose(machine, nullptr), Severity::kNote, "sequence number"), nullptr);
  machine.heap_counter = no("the kernel does not trust it (its clock is hpet)");
  EXPECT_NE(
      find(diagnose(machine, nullptr), Severity::kNote,
           "not by the time-stamp counter: the kernel does not trust it (its clock is hpet). Their times"),
      nullptr);
}

TEST(Diagnosis, OtherArchitecturesAreRefusedByName) {
  MachineFacts machine = root();
  machine.architecture = "aarch64";
  const Diagnosis diagnosis = diagnose(machine, nullptr);
  EXPECT_EQ(diagnosis.engine, "");
  EXPECT_NE(find(diagnosis, Severity::kObstacle, "aarch64"), nullptr);
}

TEST(Diagnosis, ObstaclesComeFirst) {
  MachineFacts machine = user();
  machine.cycles = no("No such file or directory");
  const Diagnosis diagnosis = diagnose(machine, nullptr);
  EXPECT_TRUE(std::is_sorted(diagnosis.findings.begin(), diagnosis.findings.end(),
                             [](const Finding& a, const Finding& b) { return a.severity < b.severity; }));
  EXPECT_GT(diagnosis.findings.size(), 2u);
}

TEST(Presentation, SentencesComeFirstAndEveryRemedyHasItsSideEffects) {
  const MachineFacts machine = user();
  const Diagnosis diagnosis = diagnose(machine, nullptr);
  const std::string text = to_text(diagnosis, machine, nullptr);
  EXPECT_THAT(text, StartsWith(diagnosis.sentences.front()));
  std::size_t tries = 0, effects = 0;
  for (std::size_t at = 0; (at = text.find("  try: ", at)) != std::string::npos; ++at) ++tries;
  for (std::size_t at = 0; (at = text.find("side effects: ", at)) != std::string::npos; ++at) ++effects;
  EXPECT_GT(tries, 0u);
  EXPECT_EQ(tries, effects);
}

TEST(Presentation, JsonHoldsTheSame) {
  const MachineFacts machine = root();
  TargetFacts target = redis();
  target.process.name = "not \xff utf-8";
  const auto json = nlohmann::json::parse(to_json(diagnose(machine, &target), machine, &target));
  EXPECT_EQ(json["engine"], "bpf");
  EXPECT_EQ(json["engines"].size(), 3u);
  EXPECT_EQ(json["target"]["modules"][0]["symbols"], "dwarf");
  EXPECT_EQ(json["machine"]["trials"]["bpf_engine"]["works"], true);
  EXPECT_EQ(json["machine"]["sysctl"]["kernel.perf_event_paranoid"], 2);
  const auto nothing = nlohmann::json::parse(to_json({}, {}, nullptr));
  EXPECT_TRUE(nothing["engine"].is_null() && nothing["target"].is_null());
}

TEST(Lockdown, TheWordInBrackets) {
  EXPECT_EQ(parse_lockdown("none [integrity] confidentiality\n"), "integrity");
  EXPECT_EQ(parse_lockdown("[none] integrity confidentiality\n"), "none");
  EXPECT_EQ(parse_lockdown(""), "");
  EXPECT_EQ(parse_lockdown("]["), "");
}

// A process names itself, its files and its threads: none of that may command the terminal of who looks at it.
TEST(Diagnosis, WhatTheTargetNamesIsTextAndNothingElse) {
  constexpr const char* kEvil =
      "evil\x1b[2J\xc2\x9b"
      "31m\nEngines, best first\r";
  MachineFacts machine = root();
  TargetFacts target = redis();
  target.process.name = target.process.executable = kEvil;
  target.process.arguments = {kEvil};
  target.modules.push_back(
      {.path = kEvil, .code_bytes = 5, .deleted = true, .symbols_path = kEvil, .problem = kEvil});
  target.modules.push_back({.path = target.process.executable, .code_bytes = 4});
  target.map_files = target.maps = no(kEvil);
  target.heap.problem = target.heap_remedy = kEvil;
  target.allocators = {{"jemalloc (" + std::string(kEvil) + ")", kEvil, {kEvil}}};
  target.unseen_allocators = {{kEvil, kEvil, kEvil, kEvil}};
  target.heap_probes = target.heap_probe_problems = {kEvil};
  target.allocator_notes = {kEvil};
  target.container = process::Container{kEvil, kEvil};
  machine.container = target.container;
  allocators::AllocatorState state;
  state.name = "jemalloc";
  state.module = state.reason = state.layout = kEvil;
  for (const auto certainty : {allocators::Certainty::kUnknown, allocators::Certainty::kVerified}) {
    state.certainty = certainty;
    target.held.emplace().allocators = {state};
    const std::string text = to_text(diagnose(machine, &target), machine, &target);
    EXPECT_THAT(text, HasSubstr("evil?[2J"));
    EXPECT_THAT(text,
                testing::Not(testing::AnyOf(HasSubstr("\x1b"), HasSubstr("\xc2\x9b"), HasSubstr("\r"))));
    EXPECT_EQ(text.find("\nEngines, best first"), text.rfind("\nEngines, best first")) << text;
  }
}

}  // namespace
}  // namespace fathom::doctor
