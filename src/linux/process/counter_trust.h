// May the time-stamp counter order events on different CPUs? Only if all CPUs count in step, at one rate, and
// never stop. Only the kernel knows: it compares the CPUs' counters when it starts them, watches them against
// another clock, and drops the counter as soon as it finds a fault. So fathom reads the kernel's judgement,
// and uses the flags of /proc/cpuinfo alone only if the kernel does not contradict them. Source: tsc.c,
// tsc_sync.c, pvclock.c and clocksource.c of Linux 5.10 to 6.12.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fathom::process {

struct CounterFacts {
  bool constant = false, nonstop = false;  // flags of /proc/cpuinfo: one rate; goes on while a CPU sleeps
  // Of /sys/devices/system/clocksource/clocksource0; empty: not readable. A counter that the kernel found faulty is not
  // available.
  std::string current;
  std::vector<std::string> available;
  // The vDSO gives CLOCK_MONOTONIC without a system call: then it computes it from one counter for all CPUs. With kvm-clock,
  // Xen and Hyper-V it does so only while the hypervisor guarantees that. nullopt: not tried, or the trial failed.
  std::optional<bool> read_in_user_mode;
  bool hidden = false;  // FATHOM_HIDE_TSC: for tests, and for who does not believe the kernel
};

struct CounterTrust {
  bool orders = false;
  std::string reason;  // "the kernel uses it as its clock"
  bool operator==(const CounterTrust&) const = default;
};
CounterTrust judge_counter(const CounterFacts& facts);

// Parsing, apart from reading.
void parse_cpu_flags(std::string_view cpuinfo, CounterFacts& facts);
void parse_clock_sources(std::string_view current, std::string_view available, CounterFacts& facts);

CounterFacts read_counter_facts();

}  // namespace fathom::process
