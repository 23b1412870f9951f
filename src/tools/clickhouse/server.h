// Sends statements to a ClickHouse server by HTTP.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tools/clickhouse/location.h"

namespace fathom::clickhouse {

// One per thread. The location outlives it.
class Server {
 public:
  explicit Server(const Location& location, int stop = -1) : location_(location), stop_(stop) {}

  // A statement without rows, such as CREATE TABLE.
  Result<> execute(const std::string& sql) const;
  // The rows of a SELECT with its FORMAT, within 1 GiB; the server may not write while it answers.
  Result<std::string> select(const std::string& sql) const;
  // "INSERT INTO t (a, b) FORMAT RowBinary" and its rows, packed on the way. Bytes that were sent are returned.
  Result<std::uint64_t> insert(const std::string& sql, const std::string& rows) const;

 private:
  Result<std::string> post(const std::string& parameters, std::string body, bool packed,
                           std::uint64_t seconds) const;
  const Location& location_;
  int stop_;
};

// 'it\'s': a string in SQL.
std::string sql_text(std::string_view text);
// 'a','b'
std::string sql_list(const std::vector<std::string>& texts);

}  // namespace fathom::clickhouse
