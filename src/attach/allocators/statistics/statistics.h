// jemalloc's own statistics: the text and the JSON of malloc_stats_print(), anywhere in a log. Pure; the
// bytes are not trusted. Source: jemalloc 4.0 to 5.3, src/stats.c (stats_print, stats_arena_print and
// below); every table is read by the words in its header, so columns added in later versions need no rule.
//
// Sizes are bytes, times nanoseconds. Values that a version or its options omit are unset, never 0.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fathom::allocators {

struct StatisticsClass {
  std::uint64_t size = 0;  // of a block
  bool large = false;      // each block has pages of its own; else blocks lie in slabs
  std::uint64_t live = 0;  // blocks that the program or a thread's cache has
  std::uint64_t made = 0;  // since the start
  std::optional<std::uint64_t> slabs{}, blocks_in_slab{}, slab_bytes{};  // not of a large one

  std::uint64_t live_bytes() const;
  // Free blocks in slabs; 0 if unknown.
  std::uint64_t free_bytes() const;
};

struct StatisticsLock {
  std::string name;  // "arena 0: blocks of 64 bytes", "arena 0: extents_dirty", "ctl"
  std::uint64_t taken = 0;
  std::uint64_t waited_ns = 0;  // by all threads together
};

struct Statistics {
  std::string version;  // "5.3.0"; empty: not said
  std::vector<std::pair<std::string, std::string>>
      settings{};  // "opt.dirty_decay_ms", "10000"; as they are now
  std::optional<std::uint64_t> uptime_ns{};
  std::optional<std::uint64_t> arenas{};  // made so far
  std::optional<std::uint64_t> page_bytes{};
  // Of all arenas together.
  std::optional<std::uint64_t> allocated{}, active{}, metadata{}, resident{}, mapped{}, retained{};
  std::optional<std::uint64_t> thread_caches{};  // of `allocated`: blocks that wait in caches of threads
  std::optional<std::uint64_t> dirty{}, muzzy{};
  std::vector<StatisticsClass> classes{};  // ascending by size; those that were never used may be missing
  std::vector<StatisticsLock> locks{};     // the ones that were waited for, the longest wait first
  std::uint64_t arenas_read = 0;           // whose tables are in the numbers above
  std::uint64_t unread = 0;                // lines of tables that do not fit their heads
  bool cut = false;                        // its end is missing

  const std::string* setting(std::string_view name) const;  // null: not said
};

// Whether there is any in it: cheap enough for a text of any size.
bool holds_statistics(std::string_view text);

// Each that is in the text, in its order; at most `most`, as a log may hold one for each second of a year.
std::vector<Statistics> read_statistics(std::string_view text, std::size_t most = 10'000);

}  // namespace fathom::allocators
