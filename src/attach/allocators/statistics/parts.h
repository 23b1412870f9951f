// What the readers of both forms of statistics share. Inner header of this folder.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "attach/allocators/statistics/statistics.h"
#include "base/parse.h"

namespace fathom::allocators {

// Hostile numbers may not wrap around: what does not fit is as much as fits.
inline std::uint64_t plus(std::uint64_t a, std::uint64_t b) {
  return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}
inline std::uint64_t times(std::uint64_t a, std::uint64_t b) {
  return b != 0 && a > UINT64_MAX / b ? UINT64_MAX : a * b;
}

inline void add_to(std::optional<std::uint64_t>& sum, std::uint64_t value) {
  sum = plus(sum.value_or(0), value);
}

// Numbers of one arena, or of all of them merged.
struct ArenaNumbers {
  std::optional<std::uint64_t> uptime_ns, dirty_pages, muzzy_pages, thread_caches, resident, base, internal;
  std::map<std::uint64_t, StatisticsClass> classes;  // by size
  std::vector<StatisticsLock> locks;
};

// `merged` stands for all arenas where it is there, and else their sum.
struct ArenaTables {
  std::optional<ArenaNumbers> merged;
  std::vector<ArenaNumbers> single;
};

void finish(const ArenaTables& arenas, Statistics& statistics);

// One of each form. `text`: what stands between begin and end, both without.
Statistics read_text_statistics(std::string_view text, std::string_view line_prefix);
std::optional<Statistics> read_json_statistics(std::string_view json);

}  // namespace fathom::allocators
