#include "tools/serve/quality_change.h"

#include <algorithm>
#include <cstdint>

namespace fathom::serve {
namespace {

// Every counter of Quality that only grows.
constexpr std::uint64_t model::Quality::*kCounters[] = {
    &model::Quality::lost_ring_full,  &model::Quality::lost_stack,      &model::Quality::lost_throttled,
    &model::Quality::lost_records,    &model::Quality::lost_disk,       &model::Quality::kernel_truncated,
    &model::Quality::table_overflows, &model::Quality::profiler_cpu_ns, &model::Quality::bpf_ns,
    &model::Quality::bpf_runs,        &model::Quality::target_stops,    &model::Quality::unwalked_waits,
    &model::Quality::unwalked_ns,     &model::Quality::lost_waits,      &model::Quality::switches,
    &model::Quality::switch_ns,
};

}  // namespace

model::Quality change_of(const model::Quality& before, const model::Quality& after, Excerpt& excerpt) {
  model::Quality change = after;
  for (const auto counter : kCounters)
    change.*counter = after.*counter > before.*counter ? after.*counter - before.*counter : 0;
  change.filtered = change.filtered_waits = 0;
  change.early_ends.clear();
  for (const model::EarlyEnd& end : after.early_ends) {
    std::uint64_t earlier = 0;
    for (const model::EarlyEnd& known : before.early_ends)
      if (known.reason == end.reason && known.module == end.module) earlier = known.count;
    if (end.count > earlier)
      change.early_ends.push_back({end.reason, excerpt.module(end.module), end.count - earlier});
  }
  return change;
}

void forget_sums(std::map<std::string, std::string>& facts) {
  for (const char* key : {"own_start_us", "own_recording_us", "own_naming_us", "cpu_runs", "ended_threads",
                          "probe_hits", "probe_ns", "heap_probe_hits", "heap_probe_ns"})
    facts.erase(key);
}

}  // namespace fathom::serve
