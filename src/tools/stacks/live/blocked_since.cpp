#include "tools/stacks/live/blocked_since.h"

#include <fmt/format.h>
#include <sched.h>

#include <cmath>
#include <thread>

#include "base/clock.h"
#include "base/files.h"
#include "base/parse.h"
#include "linux/process/fields.h"

namespace fathom::stacks {

std::optional<std::uint64_t> parse_exec_start(std::string_view sched) {
  std::string_view line;
  while (process::next_line(sched, line)) {
    if (process::next_field(line) != "se.exec_start" || process::next_field(line) != ":") continue;
    // Milliseconds with six digits behind the point.
    const std::string_view value = process::next_field(line);
    const std::size_t point = value.find('.');
    if (point == std::string_view::npos || value.size() - point != 7) return std::nullopt;
    const auto ms = parse_number(value.substr(0, point));
    const auto ns = parse_number(value.substr(point + 1));
    if (!ms || !ns || *ms > UINT64_MAX / 1'000'000 - 1 || *ms + *ns == 0) return std::nullopt;
    return *ms * 1'000'000 + *ns;
  }
  return std::nullopt;
}

std::optional<int> parse_last_cpu(std::string_view stat) {
  const std::size_t close = stat.rfind(')');
  if (close == std::string_view::npos) return std::nullopt;
  std::string_view rest = stat.substr(close + 1);
  std::string_view field;
  for (int number = 3; number <= 39; ++number) field = process::next_field(rest);
  return parse_number<int>(field);
}

// A thread of its own moves there, so that this one keeps its place. Waking up on that CPU takes the time afresh.
std::optional<SchedulerClocks::Clock> SchedulerClocks::measure(int cpu) {
  std::optional<Clock> clock;
  std::thread([&clock, cpu] {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (cpu < 0 || cpu >= CPU_SETSIZE) return;
    CPU_SET(cpu, &set);
    if (::sched_setaffinity(0, sizeof(set), &set) != 0) return;
    std::this_thread::sleep_for(std::chrono::microseconds(50));
    const auto text = read_file("/proc/thread-self/sched");
    const std::uint64_t now = monotonic_ns();
    if (!text) return;
    if (const auto start = parse_exec_start(*text)) clock = Clock{*start, now};
  }).join();
  return clock;
}

std::optional<std::uint64_t> SchedulerClocks::since_it_ran(std::int32_t pid, std::int32_t tid) {
  const auto sched = read_file(fmt::format("/proc/{}/task/{}/sched", pid, tid));
  const auto stat = read_file(fmt::format("/proc/{}/task/{}/stat", pid, tid));
  if (!sched || !stat) return std::nullopt;
  const auto start = parse_exec_start(*sched);
  const auto cpu = parse_last_cpu(*stat);
  if (!start || !cpu) return std::nullopt;
  const auto [clock, is_new] = clocks_.try_emplace(*cpu);
  if (is_new) clock->second = measure(*cpu);
  if (!clock->second) return std::nullopt;
  const std::uint64_t now = clock->second->scheduler_ns + (monotonic_ns() - clock->second->monotonic_ns);
  return now > *start ? now - *start : 0;
}

}  // namespace fathom::stacks
