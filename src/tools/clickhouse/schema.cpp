#include "tools/clickhouse/schema.h"

#include <fmt/format.h>

namespace fathom::clickhouse {
namespace {

constexpr const char *kStacks = "fathom_stacks", *kSamples = "fathom_samples";

std::string table_of(const Location& location, const char* name) {
  return location.cluster.empty() ? name : fmt::format("{}_all", name);
}

}  // namespace

std::string stacks_table(const Location& location) {
  return table_of(location, kStacks);
}
std::string samples_table(const Location& location) {
  return table_of(location, kSamples);
}

std::vector<std::string> create_statements(const Location& location) {
  std::vector<std::string> statements{
      fmt::format(
          R"(CREATE TABLE IF NOT EXISTS {} (service String, hash UInt64, functions Array(String), modules Array(String),
          sources Array(String), flags Array(UInt8), seen DateTime, cause String, waker String, waker_stack UInt64, wait String)
          ENGINE = ReplacingMergeTree(seen) PARTITION BY tuple() ORDER BY (service, hash))",
          kStacks),
      // The same row twice becomes one. All columns that tell rows of different windows apart are in the key.
      fmt::format(
          R"(CREATE TABLE IF NOT EXISTS {} (service String, metric String, start DateTime, host String, version String,
          thread String, stack UInt64, batch UInt64, window_ns UInt64, period_ns UInt64, quality UInt8, value Int64)
          ENGINE = ReplacingMergeTree() PARTITION BY toDate(start)
          ORDER BY (service, metric, start, host, batch, thread, stack, period_ns))",
          kSamples)};
  if (location.cluster.empty()) return statements;
  // A window stays whole on one server: then all of it is there, or nothing.
  statements.push_back(
      fmt::format("CREATE TABLE IF NOT EXISTS {0}_all AS {0} ENGINE = Distributed({1}, {2}, {0}, hash)",
                  kStacks, location.cluster, location.database));
  statements.push_back(
      fmt::format("CREATE TABLE IF NOT EXISTS {0}_all AS {0} ENGINE = Distributed({1}, {2}, {0}, batch)",
                  kSamples, location.cluster, location.database));
  return statements;
}

std::vector<std::string> tables_with_newer_columns(const Location& location) {
  std::vector<std::string> tables{kStacks};
  if (!location.cluster.empty()) tables.push_back(stacks_table(location));
  return tables;
}

std::string newer_columns_query(const std::string& table) {
  std::string names;
  for (const NewerColumn& column : kNewerColumns)
    names += fmt::format("{}'{}'", names.empty() ? "" : ", ", column.name);
  return fmt::format(
      "SELECT name FROM system.columns WHERE database = currentDatabase() AND table = '{}' AND name IN ({}) FORMAT RowBinary",
      table, names);
}

std::string add_column_statement(const std::string& table, const NewerColumn& column) {
  return fmt::format("ALTER TABLE {} ADD COLUMN {} {}", table, column.name, column.type);
}

}  // namespace fathom::clickhouse
