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
// Columns of stacks that tables of earlier versions of fathom lack. Their old rows are waits without a cause, which stay a metric of
// samples. The table of this server, and with a cluster also the one that spreads over its servers:
std::vector<std::string> tables_with_newer_columns(const Location& location);
struct NewerColumn {
  const char *name, *type;
};
inline constexpr NewerColumn kNewerColumns[] = {
    {"cause", "String"}, {"waker", "String"}, {"waker_stack", "UInt64"}, {"wait", "String"}};
// The names of those that a table has.
std::string newer_columns_query(const std::string& table);
// Version 18.16 has no ADD COLUMN IF NOT EXISTS.
std::string add_column_statement(const std::string& table, const NewerColumn& column);

// In the order in which rows are written.
inline constexpr const char* kStackColumns =
    "service, hash, functions, modules, sources, flags, seen, cause, waker, waker_stack, wait";
inline constexpr const char* kSampleColumns =
    "service, metric, start, host, version, thread, stack, batch, window_ns, period_ns, quality, value";
// Bits of `flags`: the kind of the module, and whether the frame was inlined into the next one.
inline constexpr std::uint8_t kKindBits = 0x0f, kInlinedBit = 0x80;

}  // namespace fathom::clickhouse
