#include "tools/dataset/covered.h"

#include "base/files.h"
#include "formats/parquet/reader.h"
#include "tools/dataset/layout.h"

namespace fathom::dataset {

Result<std::vector<clickhouse::TimeSpan>> covered_times(const std::string& dataset,
                                                        const push::Labels& labels,
                                                        const clickhouse::TimeSpan& whole) {
  constexpr std::uint64_t kSecond = 1'000'000'000, kMicro = 1000;
  static constexpr ColumnInfo kWanted[] = {kSampleColumns[kMetric], kSampleColumns[kThread],
                                           kSampleColumns[kStart], kSampleColumns[kWindowNs]};
  clickhouse::Location choice;
  choice.service = labels.service;
  choice.hosts = {labels.host.empty() ? "unknown" : labels.host};
  std::vector<clickhouse::TimeSpan> covered;
  for (const SamplesFile& file : samples_files(dataset, choice)) {
    if (file.first_unix_s > whole.until_unix_ns / kSecond || file.end_unix_s < whole.from_unix_ns / kSecond)
      continue;
    const auto bytes = read_file(file.path);
    if (!bytes) return tl::unexpected<Error>(bytes.error());
    const auto table = parquet::read_parquet(*bytes, file.path, kWanted);
    if (!table) return tl::unexpected<Error>(table.error());
    const auto& columns = table->columns;
    for (std::uint64_t row = 0; row < table->rows; ++row) {
      if (columns[0].texts[columns[0].numbers[row]] != clickhouse::kWindowMetric ||
          columns[1].texts[columns[1].numbers[row]] != clickhouse::kStoreThread)
        continue;
      const std::uint64_t start_ns = columns[2].numbers[row] * kMicro;
      covered.push_back({start_ns, start_ns + columns[3].numbers[row]});
    }
  }
  return covered;
}

}  // namespace fathom::dataset
