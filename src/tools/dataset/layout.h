// How a dataset lies in its folder: DIR/service=NAME/date=2026-11-20/host=NAME/FIRST-END-HASH.samples.parquet, and the same name with
// .stacks.parquet. FIRST and END are seconds since 1970 (UTC): the start of the first window and the end of the last one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "formats/parquet/table.h"
#include "tools/clickhouse/location.h"

namespace fathom::dataset {

inline constexpr std::string_view kSamplesEnding = ".samples.parquet", kStacksEnding = ".stacks.parquet";

using parquet::ColumnInfo, parquet::ColumnKind;

// As in the tables of ClickHouse (tools/clickhouse/schema.h), but for service and host, which the folders have.
enum SampleColumn : std::uint8_t {
  kMetric,
  kStart,
  kVersion,
  kThread,
  kStack,
  kBatch,
  kWindowNs,
  kPeriodNs,
  kQuality,
  kValue
};
inline constexpr ColumnInfo kSampleColumns[] = {
    {"metric", ColumnKind::kText, false},        {"start", ColumnKind::kTimestamp, false},
    {"version", ColumnKind::kText, false},       {"thread", ColumnKind::kText, false},
    {"stack", ColumnKind::kUnsigned, false},     {"batch", ColumnKind::kUnsigned, false},
    {"window_ns", ColumnKind::kUnsigned, false}, {"period_ns", ColumnKind::kUnsigned, false},
    {"quality", ColumnKind::kByte, false},       {"value", ColumnKind::kSigned, false}};
enum StackColumn : std::uint8_t {
  kHash,
  kFunctions,
  kModules,
  kSources,
  kFlags,
  kSeen,
  kCause,
  kWaker,
  kWakerStack,
  kWait
};
inline constexpr ColumnInfo kStackColumns[] = {{"hash", ColumnKind::kUnsigned, false},
                                               {"functions", ColumnKind::kText, true},
                                               {"modules", ColumnKind::kText, true},
                                               {"sources", ColumnKind::kText, true},
                                               {"flags", ColumnKind::kByte, true},
                                               {"seen", ColumnKind::kTimestamp, false},
                                               // Files of earlier versions lack these.
                                               {"cause", ColumnKind::kText, false, true},
                                               {"waker", ColumnKind::kText, false, true},
                                               {"waker_stack", ColumnKind::kUnsigned, false, true},
                                               {"wait", ColumnKind::kText, false, true}};

// Without a '/' at its end.
std::string partition_folder(const std::string& dataset, std::string_view service, std::string_view date,
                             std::string_view host);
// "2026-11-20" of seconds since 1970, UTC.
std::string date_of(std::uint64_t unix_s);
// Without an ending.
std::string file_stem(std::uint64_t first_unix_s, std::uint64_t end_unix_s, std::uint64_t hash);

// A samples file, as its path describes it. A name of another kind, as of an engine that joined files, may have any time.
struct SamplesFile {
  std::string path, folder, host;
  std::uint64_t first_unix_s = 0, end_unix_s = UINT64_MAX;
  bool has_times = false;
};

// True for a folder with at least one folder service=NAME in it.
bool is_dataset(const std::string& folder);
std::vector<std::string> services_in(const std::string& dataset);  // sorted
// Of the hosts that `choice` allows, by path.
std::vector<SamplesFile> samples_files(const std::string& dataset, const clickhouse::Location& choice);
// The files with stacks next to samples.
std::vector<std::string> stacks_files(const std::string& folder);

}  // namespace fathom::dataset
