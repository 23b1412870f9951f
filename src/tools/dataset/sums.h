// Rows of many Parquet files, added up by metric, thread, rate and stack. The files are a stranger's.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/result.h"
#include "formats/parquet/table.h"
#include "tools/clickhouse/location.h"
#include "tools/clickhouse/profile_of.h"

namespace fathom::dataset {

// Which rows count. Times are seconds since 1970: windows that began in them.
struct RowFilter {
  std::vector<std::string> versions;  // beginnings; empty: all
  std::string metric;                 // empty: all
  std::uint64_t from_unix_s = 0, until_unix_s = UINT64_MAX;
};

class Sums {
 public:
  // `once`: each row counts once for each window, for windows that several files have. It takes longer.
  explicit Sums(RowFilter filter, bool once = false) : filter_(std::move(filter)), once_(once) {}

  // The rows of one file, as add() takes them. Needs no Sums, so that files can be read in several threads. kMalformed and
  // kUnsupported as of read_parquet().
  static Result<parquet::Table> read_samples(const std::string& path);
  void add(const parquet::Table& samples, const std::string& host);
  // The stacks of one file, if their rows are used by what was added before, also as the stacks of who ended a wait. Again for all files
  // while misses_wakers(), once: these may lie in an earlier file.
  Result<> add_stacks(const std::string& file, const std::string& path);
  bool misses_wakers() const { return !missing_wakers_.empty(); }

  const clickhouse::Extent& extent() const { return extent_; }
  // What profile_of() takes.
  std::string stack_rows() const { return stacks_; }
  std::string sum_rows() const;

 private:
  struct Key {
    std::uint32_t kind = 0;  // row of kinds_
    std::uint64_t period_ns = 0, stack = 0;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const;
  };
  struct WindowKey {
    Key key;
    std::uint64_t batch = 0;
    bool operator==(const WindowKey&) const = default;
  };
  struct WindowKeyHash {
    std::size_t operator()(const WindowKey& key) const;
  };
  // Of a host, what was live at the end of its last window.
  struct Levels {
    std::uint64_t start_us = 0;  // of that window
    std::unordered_map<Key, std::int64_t, KeyHash> values;
  };
  std::uint32_t kind_of(const std::string& metric, const std::string& thread);
  void add_marker(std::uint64_t start_s, std::uint64_t length_ns, std::uint64_t batch,
                  const std::string& host, const std::string& version);

  const RowFilter filter_;
  const bool once_;
  clickhouse::Extent extent_;
  std::set<std::uint64_t> batches_;
  std::set<std::string> hosts_, versions_;
  std::vector<std::pair<std::string, std::string>> kinds_;  // metric and thread
  std::unordered_map<std::string, std::uint32_t> kind_rows_;
  std::unordered_map<Key, std::int64_t, KeyHash> sums_;
  std::map<std::string, Levels> levels_;  // by host
  std::unordered_set<WindowKey, WindowKeyHash> counted_;
  std::unordered_set<std::uint64_t> missing_stacks_;  // used, and not seen in a file with stacks yet
  std::unordered_set<std::uint64_t> read_stacks_, missing_wakers_;
  std::string stacks_;
};

}  // namespace fathom::dataset
