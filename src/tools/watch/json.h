// What a look showed, for scripts: one object on one line. docs/watch.md names the fields.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "tools/watch/history.h"

namespace fathom::watch {

std::string look_json(const View& view);
std::string ending_json(std::int32_t pid, const std::string& name, const std::string& how,
                        std::uint64_t last_rss, std::uint64_t wall_ns);
std::string mappings_json(std::int32_t pid, const std::string& name,
                          std::span<const WatchedMapping> mappings);

// One row of a reading, always with the same columns: parts are identified by kind.
std::string csv_head();
std::string csv_row(const View& view);

}  // namespace fathom::watch
