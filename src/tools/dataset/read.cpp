#include "tools/dataset/read.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <future>
#include <optional>
#include <set>
#include <thread>

#include "base/files.h"
#include "base/shell_word.h"
#include "tools/clickhouse/profile_of.h"
#include "tools/dataset/layout.h"
#include "tools/dataset/sums.h"

namespace fathom::dataset {
namespace {

constexpr std::uint64_t kNsPerSecond = 1'000'000'000, kHourS = 3600;
constexpr std::size_t kMostNames = 20;  // in a message
constexpr std::size_t kMostAhead = 8;   // files in memory
constexpr std::uintmax_t kMostBytesAhead =
    8 << 20;  // of such files, which are some twenty times as large in memory

std::string some_of(const std::vector<std::string>& names) {
  if (names.size() <= kMostNames) return fmt::format("{}", fmt::join(names, ", "));
  return fmt::format("{} and {} more", fmt::join(names.begin(), names.begin() + kMostNames, ", "),
                     names.size() - kMostNames);
}

// What was chosen, and the files that may have rows of it.
struct Chosen {
  clickhouse::Location location;
  RowFilter filter;
  std::vector<SamplesFile> files;
  std::string notice;
};

Result<> choose_service_of(const std::string& folder, clickhouse::Location& location) {
  if (!location.service.empty()) return {};
  const std::vector<std::string> services = services_in(folder);
  if (services.size() == 1) {
    location.service = services[0];
    return {};
  }
  if (services.empty())
    return fail(ErrorKind::kNotFound, folder + ": there are no recordings",
                "fathom push --parquet FOLDER FILE");
  return fail(ErrorKind::kUsage, fmt::format("{} has several services: {}", folder, some_of(services)),
              fmt::format("{}?service=NAME", shell_word(folder)));
}

// Without a time: the last hour of what there is.
void choose_hour(Chosen& chosen) {
  std::uint64_t first = UINT64_MAX, end = 0;
  for (const SamplesFile& file : chosen.files) {
    if (!file.has_times) continue;
    first = std::min(first, file.first_unix_s);
    end = std::max(end, file.end_unix_s);
  }
  if (end <= first || end - first <= kHourS) return;
  chosen.filter.from_unix_s = end - kHourS;
  chosen.notice =
      fmt::format("using the last hour of {}; from= and until= choose another time", chosen.location.service);
}

Result<Chosen> choose(const std::string& folder, const clickhouse::Location& choice,
                      const clickhouse::TimeChoice& time) {
  Chosen chosen{choice, {choice.versions, choice.metric}, {}, {}};
  if (auto service = choose_service_of(folder, chosen.location); !service)
    return tl::unexpected<Error>(service.error());
  chosen.files = samples_files(folder, chosen.location);
  const auto seconds = [](std::uint64_t ns) { return (ns + kNsPerSecond - 1) / kNsPerSecond; };
  if (time.from_unix_ns) chosen.filter.from_unix_s = seconds(*time.from_unix_ns);
  if (time.until_unix_ns) chosen.filter.until_unix_s = seconds(*time.until_unix_ns);
  if (!time.from_unix_ns && !time.until_unix_ns) choose_hour(chosen);
  std::erase_if(chosen.files, [&](const SamplesFile& file) {
    return file.end_unix_s < chosen.filter.from_unix_s || file.first_unix_s >= chosen.filter.until_unix_s;
  });
  return chosen;
}

// Unpacking takes most of the time, so other threads do it ahead of the one that adds up.
Result<> add_files(const Chosen& chosen, Sums& sums) {
  struct Ahead {
    std::future<Result<parquet::Table>> table;
    std::uintmax_t bytes;
  };
  const std::size_t most_ahead = std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, kMostAhead);
  std::deque<Ahead> ahead;
  std::uintmax_t bytes_ahead = 0;
  auto next = chosen.files.begin();
  for (const SamplesFile& file : chosen.files) {
    while (next != chosen.files.end() &&
           (ahead.empty() || (ahead.size() < most_ahead && bytes_ahead < kMostBytesAhead))) {
      std::error_code unknown;
      const std::uintmax_t bytes = std::filesystem::file_size(next->path, unknown);
      constexpr auto kWay = std::launch::async | std::launch::deferred;
      ahead.push_back({std::async(kWay, &Sums::read_samples, next->path), unknown ? 0 : bytes});
      bytes_ahead += ahead.back().bytes;
      ++next;
    }
    const auto table = ahead.front().table.get();
    bytes_ahead -= ahead.front().bytes;
    ahead.pop_front();
    if (!table) return tl::unexpected<Error>(table.error());
    sums.add(*table, file.host);
  }
  return {};
}

Result<> add_stacks_of(const Chosen& chosen, Sums& sums) {
  std::set<std::string> folders;
  for (const SamplesFile& file : chosen.files) folders.insert(file.folder);
  for (bool again = false;; again = true) {
    for (const std::string& folder : folders)
      for (const std::string& path : stacks_files(folder)) {
        const auto bytes = read_file(path);
        if (!bytes) return tl::unexpected<Error>(bytes.error());
        if (auto added = sums.add_stacks(*bytes, path); !added) return added;
      }
    if (again || !sums.misses_wakers()) return {};
  }
}

}  // namespace

Result<clickhouse::Fetched> read(const std::string& folder, const clickhouse::Location& choice,
                                 const clickhouse::TimeChoice& time) {
  const auto chosen = choose(folder, choice, time);
  if (!chosen) return tl::unexpected<Error>(chosen.error());
  std::optional<Sums> sums(chosen->filter);
  if (auto added = add_files(*chosen, *sums); !added) return tl::unexpected<Error>(added.error());
  if (sums->extent().windows == 0)
    return fail(
        ErrorKind::kNotFound,
        fmt::format("{}: no windows of service '{}' in this selection", folder, chosen->location.service),
        fmt::format("services: {}; or another from=, until=, host= or version=",
                    some_of(services_in(folder))));
  // A window that two files have, as after an engine joined them.
  if (sums->extent().markers != sums->extent().windows) {
    sums.emplace(chosen->filter, true);
    if (auto added = add_files(*chosen, *sums); !added) return tl::unexpected<Error>(added.error());
  }
  if (auto added = add_stacks_of(*chosen, *sums); !added) return tl::unexpected<Error>(added.error());
  auto profile = clickhouse::profile_of({chosen->location.service, folder, "the dataset", "Parquet"},
                                        sums->extent(), sums->stack_rows(), sums->sum_rows());
  if (!profile) return tl::unexpected<Error>(profile.error());
  return clickhouse::Fetched{std::move(*profile), chosen->notice};
}

Result<std::vector<std::string>> hosts_in(const std::string& folder, const clickhouse::Location& choice,
                                          const clickhouse::TimeChoice& time) {
  const auto chosen = choose(folder, choice, time);
  if (!chosen) return tl::unexpected<Error>(chosen.error());
  Sums sums(chosen->filter);
  if (auto added = add_files(*chosen, sums); !added) return tl::unexpected<Error>(added.error());
  return sums.extent().hosts;
}

}  // namespace fathom::dataset
