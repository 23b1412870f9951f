#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "base/files.h"
#include "tools/doctor/diagnosis.h"
#include "tools/doctor/machine_probe.h"
#include "tools/doctor/target_probe.h"

namespace fathom::doctor {
namespace {

std::string settings() {
  std::string all;
  for (const char* name :
       {"perf_event_paranoid", "kptr_restrict", "perf_event_max_sample_rate", "perf_event_mlock_kb"}) {
    if (auto text = read_file(std::string("/proc/sys/kernel/") + name)) all += *text;
  }
  return all;
}

TEST(Probe, ReportsThisMachineAndChangesNothing) {
  const std::string before = settings();
  const MachineFacts machine = probe_machine();
  EXPECT_EQ(settings(), before);
  EXPECT_EQ(machine.architecture, "x86_64");
  EXPECT_GT(machine.cpus, 0u);
  EXPECT_EQ(machine.uid, ::geteuid());
  EXPECT_TRUE(machine.own_path.ends_with("tools_doctor_test"));
  for (const Trial* trial :
       {&machine.record_bpf, &machine.record_perf, &machine.record_proc, &machine.cpu_clock_without_admin,
        &machine.bpf_program, &machine.bpf_engine, &machine.btf, &machine.side_band, &machine.cpu_clock_own,
        &machine.cycles, &machine.kernel_symbols, &machine.heap_counter, &machine.name_cache})
    EXPECT_EQ(trial->works, trial->problem.empty());
}

TEST(Probe, ReportsATarget) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) ::pause();
  }
  const auto target = probe_target(child, {}, true);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ASSERT_TRUE(target);
  EXPECT_TRUE(target->maps.works);
  EXPECT_EQ(target->process.pid, child);
  const auto self = std::find_if(target->modules.begin(), target->modules.end(),
                                 [](const ModuleHealth& m) { return m.path.ends_with("tools_doctor_test"); });
  ASSERT_NE(self, target->modules.end());
  EXPECT_GT(self->code_bytes, 0u);
  EXPECT_TRUE(self->symbols == model::SymbolSource::kDwarf || self->symbols == model::SymbolSource::kSymtab);
  EXPECT_FALSE(self->deleted);
  EXPECT_FALSE(target->own_pid_namespace);
}

TEST(Probe, GoneTargetIsNotFound) {
  const auto target = probe_target(0x3fffff, {}, true);
  ASSERT_FALSE(target);
  EXPECT_EQ(target.error().kind, ErrorKind::kNotFound);
}

}  // namespace
}  // namespace fathom::doctor
