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

struct Unit {
  std::string_view name;
  std::int64_t factor;
};
template <std::size_t kCount>
std::optional<std::int64_t> find(const Unit (&units)[kCount], std::string_view unit) {
  std::string word(unit);
  for (char& c : word)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  const auto factor = [&]() -> std::optional<std::int64_t> {
    const auto* found = std::ranges::find(units, word, &Unit::name);
    return found == std::end(units) ? std::nullopt : std::optional(found->factor);
  };
  if (const auto found = factor()) return found;
  if (!word.ends_with('s')) return std::nullopt;
  word.pop_back();
  return factor();
}

}  // namespace

// Source: the units of pprof's internal/measurement, in which letters count alike and a plural is its singular.
std::optional<std::int64_t> nanoseconds_in(std::string_view unit) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  static constexpr Unit kUnits[] = {{"ns", 1},
                                    {"nanosecond", 1},
                                    {"us", 1'000},
                                    {"\u00b5s", 1'000},
                                    {"\u03bcs", 1'000},
                                    {"microsecond", 1'000},
                                    {"ms", 1'000'000},
                                    {"millisecond", 1'000'000},
                                    {"s", kSecond},
                                    {"sec", kSecond},
                                    {"second", kSecond},
                                    {"min", 60 * kSecond},
                                    {"minute", 60 * kSecond},
                                    {"hr", 3600 * kSecond},
                                    {"hour", 3600 * kSecond}};
  return find(kUnits, unit);
}

std::optional<std::int64_t> bytes_in(std::string_view unit) {
  static constexpr Unit kUnits[] = {{"b", 1},
                                    {"byte", 1},
                                    {"kb", 1 << 10},
                                    {"kib", 1 << 10},
                                    {"kbyte", 1 << 10},
                                    {"kilobyte", 1 << 10},
                                    {"kibibyte", 1 << 10},
                                    {"mb", 1 << 20},
                                    {"mib", 1 << 20},
                                    {"mbyte", 1 << 20},
                                    {"megabyte", 1 << 20},
                                    {"mebibyte", 1 << 20},
                                    {"gb", 1 << 30},
                                    {"gib", 1 << 30},
                                    {"gbyte", 1 << 30},
                                    {"gigabyte", 1 << 30},
                                    {"gibibyte", 1 << 30},
                                    {"tb", std::int64_t{1} << 40},
                                    {"terabyte", std::int64_t{1} << 40}};
  return find(kUnits, unit);
}

PprofMeaning meaning_of(std::string_view type, std::string_view unit) {
  std::string word(type);
  std::ranges::replace(word, '-', '_');
  if (nanoseconds_in(unit)) return find(kTimes, word);
  if (bytes_in(unit)) return find(kBytes, word);
  return unit == "count" || unit == "objects" ? find(kCounts, word) : PprofMeaning::kOther;
}

}  // namespace fathom::formats
