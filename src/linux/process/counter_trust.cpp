#include "linux/process/counter_trust.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

namespace fathom::process {
namespace {

constexpr std::string_view kClockSources = "/sys/devices/system/clocksource/clocksource0/";

std::vector<std::string> words_of(std::string_view text) {
  std::istringstream in{std::string(text)};
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  if (file) text << file.rdbuf();
  return text.str();
}

// A filter belongs to the thread that asks for it, and goes with it: here every real call of clock_gettime fails.
std::optional<bool> clock_is_read_in_user_mode() {
  std::optional<bool> answer;
  std::thread([&] {
    sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clock_gettime, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog filter{sizeof(program) / sizeof(program[0]), program};
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0) != 0)
      return;
    timespec now{};
    answer = ::clock_gettime(CLOCK_MONOTONIC, &now) == 0;
  }).join();
  return answer;
}

}  // namespace

CounterTrust judge_counter(const CounterFacts& facts) {
  if (facts.hidden) return {false, "FATHOM_HIDE_TSC hides it"};
  if (facts.current == "tsc") return {true, "the kernel uses it as its clock"};
  const bool invariant = facts.constant && facts.nonstop;
  if (facts.read_in_user_mode == true && !facts.current.empty())
    return {true, "the kernel's clock " + facts.current + " is computed from it on every CPU alike"};
  const bool available = std::ranges::find(facts.available, "tsc") != facts.available.end();
  if (invariant && available) return {true, "its rate is constant, and the kernel found no fault in it"};
  if (invariant && facts.available.empty()) return {true, "its rate is constant on every CPU"};
  if (!facts.available.empty() && !available)
    return {false, "the kernel does not trust it (its clock is " + facts.current + ")"};
  return {false, facts.constant ? "it may stop while a CPU sleeps, and the kernel does not use it"
                                : "its rate may change, and the kernel does not use it"};
}

void parse_cpu_flags(std::string_view cpuinfo, CounterFacts& facts) {
  std::istringstream in{std::string(cpuinfo)};
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("flags")) continue;
    const auto flags = words_of(line);
    facts.constant = std::ranges::find(flags, "constant_tsc") != flags.end();
    facts.nonstop = std::ranges::find(flags, "nonstop_tsc") != flags.end();
    return;
  }
}

void parse_clock_sources(std::string_view current, std::string_view available, CounterFacts& facts) {
  const auto words = words_of(current);
  facts.current = words.empty() ? "" : words.front();
  facts.available = words_of(available);
}

CounterFacts read_counter_facts() {
  CounterFacts facts;
  const char* hide = std::getenv("FATHOM_HIDE_TSC");  // NOLINT(concurrency-mt-unsafe)
  facts.hidden = hide != nullptr && *hide != '\0';
  parse_cpu_flags(text_of("/proc/cpuinfo"), facts);
  parse_clock_sources(text_of(std::string(kClockSources) + "current_clocksource"),
                      text_of(std::string(kClockSources) + "available_clocksource"), facts);
  if (!facts.hidden && facts.current != "tsc") facts.read_in_user_mode = clock_is_read_in_user_mode();
  return facts;
}

}  // namespace fathom::process
