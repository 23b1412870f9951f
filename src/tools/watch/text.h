// A reading as text for people: a screen that is redrawn, one line per reading, or a table of the mappings (mappings_text.cpp).
// No escape codes unless colours are requested; cursor movements are the caller's.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "present/tui/screen.h"
#include "tools/watch/history.h"

namespace fathom::watch {

struct TextOptions {
  std::size_t width = 100;  // columns; 0: lines as long as they are
  std::size_t height = 0;   // rows for all of it; 0: as many as it takes
  bool color = false;
  std::size_t top = 0;     // rows of the mapping table; 0: all
  bool by_growth = false;  // the part that grows fastest first, instead of the largest
};

// The lines of one process; parts that grow are hot. If they do not fit into the height, one line sums the last parts.
std::vector<tui::ScreenLine> screen_lines(const View& view, const TextOptions& options);
// The same as text.
std::string screen_text(const View& view, const TextOptions& options);

// "14:02:11 redis-server (pid 812): RSS 512.0 MiB +1.2 MiB, ...": no newline at the end.
std::string line_text(const View& view);

// "redis-server (pid 812) was killed by signal 9 (SIGKILL); its last RSS was 512.0 MiB".
std::string ending_text(std::int32_t pid, const std::string& name, const std::string& how,
                        std::uint64_t last_rss);

// Like pmap -x, in the order given, with a line of sums.
std::string mappings_text(std::span<const WatchedMapping> mappings, const TextOptions& options);
// "stack of thread worker", "[anon:pool]", "glibc arena", "heap, jemalloc", "/usr/lib/libc.so.6".
std::string name_of(const WatchedMapping& mapping);

// Eight heights, lowest to highest value; the last `columns` values.
std::string sparkline(std::span<const double> values, std::size_t columns);

}  // namespace fathom::watch
