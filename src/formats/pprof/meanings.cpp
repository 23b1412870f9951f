#include "formats/pprof/meanings.h"

#include <algorithm>
#include <string>

namespace fathom::formats {
namespace {

struct Word {
  std::string_view type;  // "-" is written "_"
  PprofMeaning meaning;
};
constexpr Word kTimes[] = {
    {"cpu", PprofMeaning::kCpuTime},
    {"cpu_time", PprofMeaning::kCpuTime},
    {"process_cpu", PprofMeaning::kCpuTime},
    {"wall", PprofMeaning::kWallTime},
    {"wall_time", PprofMeaning::kWallTime},
    {"wallclock", PprofMeaning::kWallTime},
    {"off_cpu", PprofMeaning::kOffCpuTime},
    {"offcpu", PprofMeaning::kOffCpuTime},
    {"delay", PprofMeaning::kOffCpuTime},
    {"lock_time", PprofMeaning::kOffCpuTime},
    {"lock_acquire_wait", PprofMeaning::kOffCpuTime},
    {"lock_release_hold", PprofMeaning::kOffCpuTime},
};
constexpr Word kCounts[] = {
    {"samples", PprofMeaning::kSamples},
    {"sample", PprofMeaning::kSamples},
    {"cpu_samples", PprofMeaning::kSamples},
    {"contentions", PprofMeaning::kWaits},
    {"lock_count", PprofMeaning::kWaits},
    {"lock_acquire", PprofMeaning::kWaits},
    {"lock_release", PprofMeaning::kWaits},
    {"alloc_objects", PprofMeaning::kAllocatedObjects},
    {"alloc_samples", PprofMeaning::kAllocatedObjects},
    {"allocations", PprofMeaning::kAllocatedObjects},
    {"inuse_objects", PprofMeaning::kLiveObjects},
    {"heap_live_samples", PprofMeaning::kLiveObjects},
    {"objects", PprofMeaning::kLiveObjects},
    {"peak_objects", PprofMeaning::kPeakObjects},
};
constexpr Word kBytes[] = {
    {"alloc_space", PprofMeaning::kAllocatedBytes},
    {"allocated", PprofMeaning::kAllocatedBytes},
    {"alloc_size", PprofMeaning::kAllocatedBytes},
    {"inuse_space", PprofMeaning::kLiveBytes},
    {"heap_space", PprofMeaning::kLiveBytes},
    {"heap_live_size", PprofMeaning::kLiveBytes},
    {"space", PprofMeaning::kLiveBytes},
    {"peak_space", PprofMeaning::kPeakBytes},
};

template <std::size_t kCount>
PprofMeaning find(const Word (&words)[kCount], std::string_view type) {
  const auto* found = std::ranges::find(words, type, &Word::type);
  return found == std::end(words) ? PprofMeaning::kOther : found->meaning;
}

}  // namespace

std::optional<std::int64_t> nanoseconds_in(std::string_view unit) {
  if (unit == "nanoseconds" || unit == "ns" || unit == "nanosecond") return 1;
  if (unit == "microseconds" || unit == "us") return 1'000;
  if (unit == "milliseconds" || unit == "ms") return 1'000'000;
  if (unit == "seconds" || unit == "s") return 1'000'000'000;
  return std::nullopt;
}

PprofMeaning meaning_of(std::string_view type, std::string_view unit) {
  std::string word(type);
  std::ranges::replace(word, '-', '_');
  if (nanoseconds_in(unit)) return find(kTimes, word);
  return unit == "bytes" ? find(kBytes, word) : unit == "count" ? find(kCounts, word) : PprofMeaning::kOther;
}

}  // namespace fathom::formats
