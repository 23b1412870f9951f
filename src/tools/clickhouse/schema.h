// The tables in ClickHouse, in statements that every version since 18.16 takes. docs/fleet.md describes the columns.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/clickhouse/location.h"

namespace fathom::clickhouse {

// What reads and inserts name: with a cluster, the tables that spread over its servers.
std::string stacks_table(const Location& location);
std::string samples_table(const Location& location);

// Create what is missing. Each server of a cluster needs them.
std::vector<std::string> create_statements(const Location& location);

// In the order in which rows are written.
inline constexpr const char* kStackColumns = "service, hash, functions, modules, sources, flags, seen";
inline constexpr const char* kSampleColumns =
    "service, metric, start, host, version, thread, stack, batch, window_ns, period_ns, quality, value";
// Bits of `flags`: the kind of the module, and whether the frame was inlined into the next one.
inline constexpr std::uint8_t kKindBits = 0x0f, kInlinedBit = 0x80;

}  // namespace fathom::clickhouse
