#include "linux/process/counter_trust.h"

#include <gtest/gtest.h>

namespace fathom::process {
namespace {

CounterFacts facts_of(std::string_view flags, std::string_view current, std::string_view available,
                      std::optional<bool> read_in_user_mode = std::nullopt) {
  CounterFacts facts;
  parse_cpu_flags("processor\t: 0\nflags\t\t: fpu tsc " + std::string(flags) + " sse\n", facts);
  parse_clock_sources(current, available, facts);
  facts.read_in_user_mode = read_in_user_mode;
  return facts;
}

struct Machine {
  const char* name;
  CounterFacts facts;
  bool orders;
};

// As kernels show these machines.
TEST(CounterTrust, FollowsTheKernelsJudgement) {
  constexpr const char* kInvariant = "constant_tsc nonstop_tsc";
  const Machine machines[] = {
      {"a server", facts_of(kInvariant, "tsc\n", "tsc hpet acpi_pm \n"), true},
      {"KVM that shows an invariant counter", facts_of(kInvariant, "tsc\n", "tsc kvm-clock \n"), true},
      {"KVM without nonstop_tsc, masterclock", facts_of("constant_tsc", "kvm-clock", "kvm-clock tsc", true),
       true},
      {"KVM on a host with an unstable counter", facts_of("constant_tsc", "kvm-clock", "kvm-clock", false),
       false},
      {"KVM, trial impossible", facts_of("constant_tsc", "kvm-clock", "kvm-clock tsc"), false},
      {"Hyper-V's page",
       facts_of("constant_tsc", "hyperv_clocksource_tsc_page", "hyperv_clocksource_tsc_page", true), true},
      {"emulated, one CPU", facts_of("", "tsc", "tsc hpet acpi_pm"), true},
      {"emulated, counters out of step", facts_of("", "hpet", "hpet acpi_pm", false), false},
      {"the watchdog found a fault", facts_of(kInvariant, "hpet", "hpet acpi_pm", false), false},
      {"hpet chosen by the command line", facts_of(kInvariant, "hpet", "hpet tsc acpi_pm", false), true},
      {"/sys is not mounted", facts_of(kInvariant, "", ""), true},
      {"/sys is not mounted, old CPU", facts_of("constant_tsc", "", ""), false},
  };
  for (const Machine& machine : machines)
    EXPECT_EQ(judge_counter(machine.facts).orders, machine.orders)
        << machine.name << ": " << judge_counter(machine.facts).reason;
}

TEST(CounterTrust, SaysWhy) {
  EXPECT_EQ(judge_counter(facts_of("", "hpet", "hpet acpi_pm", false)).reason,
            "the kernel does not trust it (its clock is hpet)");
  EXPECT_EQ(judge_counter(facts_of("constant_tsc", "kvm-clock", "kvm-clock tsc", false)).reason,
            "it may stop while a CPU sleeps, and the kernel does not use it");
}

TEST(CounterTrust, AHiddenCounterOrdersNothing) {
  CounterFacts facts = facts_of("constant_tsc nonstop_tsc", "tsc", "tsc");
  facts.hidden = true;
  EXPECT_FALSE(judge_counter(facts).orders);
}

TEST(CounterTrust, FlagsAreWholeWordsOfTheFlagsLine) {
  CounterFacts facts;
  parse_cpu_flags("model name: constant_tsc nonstop_tsc\nflags : xconstant_tsc nonstop_tsc_s3\n", facts);
  EXPECT_FALSE(facts.constant);
  EXPECT_FALSE(facts.nonstop);
}

TEST(CounterTrust, ReadsThisMachine) {
  const CounterFacts facts = read_counter_facts();
  EXPECT_FALSE(facts.current.empty());
  EXPECT_FALSE(judge_counter(facts).reason.empty());
}

}  // namespace
}  // namespace fathom::process
