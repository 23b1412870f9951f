#include "formats/perf_data/event_choice.h"

#include <fmt/format.h>

#include <algorithm>

namespace fathom::formats {
namespace {

// The kernel's name of a tracepoint, from the texts that perf keeps of it.
std::string name_of_tracepoint(std::string_view tracing, std::uint64_t id) {
  const std::size_t at = tracing.find(fmt::format("\nID: {}\n", id));
  if (at == std::string_view::npos) return fmt::format("tracepoint {}", id);
  const std::size_t name = tracing.rfind("name: ", at);
  if (name == std::string_view::npos || at - name > 200) return fmt::format("tracepoint {}", id);
  return std::string(tracing.substr(name + 6, at - name - 6));
}

std::string name_of(const PerfEvent& event, std::string_view tracing) {
  if (!event.name.empty()) return event.name;
  const perf_event_attr& attributes = event.attributes;
  const std::uint64_t config = attributes.config;
  if (attributes.type == PERF_TYPE_TRACEPOINT) return name_of_tracepoint(tracing, config);
  if (attributes.type == PERF_TYPE_SOFTWARE) {
    static constexpr const char* kNames[] = {"cpu-clock",        "task-clock",     "page-faults",
                                             "context-switches", "cpu-migrations", "minor-faults",
                                             "major-faults"};
    if (config < std::size(kNames)) return kNames[config];
  }
  if (attributes.type == PERF_TYPE_HARDWARE) {
    static constexpr const char* kNames[] = {"cycles",       "instructions", "cache-references",
                                             "cache-misses", "branches",     "branch-misses"};
    if (config < std::size(kNames)) return kNames[config];
  }
  return fmt::format("event {}:{:#x}", attributes.type, config);
}

// "cycles" of "cycles:ppp" and of "cpu_core/cycles/u", which count the same; of a tracepoint all.
std::string kind_of(const PerfEvent& event, std::string_view name) {
  if (event.attributes.type == PERF_TYPE_TRACEPOINT) return std::string(name);
  if (const std::size_t slash = name.find('/'); slash != std::string_view::npos) {
    name.remove_prefix(slash + 1);
    name = name.substr(0, name.find('/'));
  }
  return std::string(name.substr(0, name.find(':')));
}

int preference_of(std::string_view kind) {
  if (kind == "cpu-clock" || kind == "task-clock") return 2;
  return kind == "cycles" || kind == "cpu-cycles" || kind == "ref-cycles" ? 1 : 0;
}

}  // namespace

EventChoice choose_events(const PerfContainer& container, std::span<const std::uint64_t> samples) {
  EventChoice choice;
  std::vector<std::string> kinds;
  std::string best;
  int best_preference = -1;
  for (std::size_t i = 0; i < container.events.size(); ++i) {
    const PerfEvent& event = container.events[i];
    choice.names.push_back(name_of(event, container.tracing));
    const std::string& name = choice.names.back();
    kinds.push_back(kind_of(event, name));
    EventUse use = EventUse::kLeftOut;
    if (event.attributes.type == PERF_TYPE_TRACEPOINT && name.find("sched_switch") != std::string::npos)
      use = EventUse::kSwitch;
    else if (event.attributes.type == PERF_TYPE_TRACEPOINT && name.find("sched_wak") != std::string::npos)
      use = EventUse::kWakeUp;
    else if (kinds.back() == "offcpu-time")
      use = EventUse::kOffCpuTime;
    choice.uses.push_back(use);
    if (use != EventUse::kLeftOut || samples[i] == 0) continue;
    if (const int preference = preference_of(kinds.back()); preference > best_preference) {
      best = kinds.back();
      best_preference = preference;
    }
  }
  std::vector<std::string> others;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    if (choice.uses[i] != EventUse::kLeftOut || samples[i] == 0) continue;
    if (kinds[i] == best) {
      choice.uses[i] = EventUse::kCpu;
      if (choice.cpu_event.empty()) choice.cpu_event = choice.names[i];
    } else if (std::ranges::find(others, choice.names[i]) == others.end() && others.size() < 20) {
      others.push_back(choice.names[i]);
    }
  }
  choice.left_out = fmt::format("{}", fmt::join(others, ", "));
  choice.nanoseconds = best_preference == 2;
  return choice;
}

}  // namespace fathom::formats
