#include "tools/dataset/layout.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <ctime>
#include <filesystem>
#include <optional>

#include "linux/metrics/http_url.h"

namespace fathom::dataset {
namespace {

namespace fs = std::filesystem;

struct Partition {
  std::string path, value;
};

// The folders "KEY=VALUE" of a folder, sorted by path. Values are percent-encoded, as Hive does it.
std::vector<Partition> partitions_of(const std::string& folder, std::string_view key) {
  std::vector<Partition> found;
  std::error_code problem;
  for (fs::directory_iterator entry(folder, problem), end; !problem && entry != end;
       entry.increment(problem)) {
    const std::string name = entry->path().filename().string();
    std::error_code ignored;
    if (!name.starts_with(key) || name.size() <= key.size() || name[key.size()] != '=' ||
        !entry->is_directory(ignored))
      continue;
    Partition partition{entry->path().string(), {}};
    if (metrics::percent_decode(std::string_view(name).substr(key.size() + 1), partition.value))
      found.push_back(std::move(partition));
  }
  std::ranges::sort(found, {}, &Partition::path);
  return found;
}

std::vector<std::string> files_of(const std::string& folder, std::string_view ending) {
  std::vector<std::string> found;
  std::error_code problem;
  for (fs::directory_iterator entry(folder, problem), end; !problem && entry != end;
       entry.increment(problem)) {
    std::error_code ignored;
    std::string path = entry->path().string();
    if (path.ends_with(ending) && entry->is_regular_file(ignored)) found.push_back(std::move(path));
  }
  std::ranges::sort(found);
  return found;
}

bool is_allowed(const std::string& host, const clickhouse::Location& choice) {
  const auto has = [&](const std::vector<std::string>& hosts) {
    return std::ranges::find(hosts, host) != hosts.end();
  };
  return (choice.hosts.empty() || has(choice.hosts)) && !has(choice.other_hosts);
}

void take_times(SamplesFile& file) {
  const std::string name = fs::path(file.path).filename().string();
  const char *at = name.data(), *const end = name.data() + name.size();
  std::uint64_t first = 0, last = 0;
  const auto one = std::from_chars(at, end, first);
  if (one.ec != std::errc{} || one.ptr == end || *one.ptr != '-') return;
  const auto two = std::from_chars(one.ptr + 1, end, last);
  if (two.ec != std::errc{} || two.ptr == end || *two.ptr != '-' || last < first) return;
  file.first_unix_s = first;
  file.end_unix_s = last;
  file.has_times = true;
}

}  // namespace

std::string partition_folder(const std::string& dataset, std::string_view service, std::string_view date,
                             std::string_view host) {
  return fmt::format("{}/service={}/date={}/host={}", dataset, metrics::percent_encode(service), date,
                     metrics::percent_encode(host.empty() ? "unknown" : host));
}

std::string date_of(std::uint64_t unix_s) {
  return fmt::format("{:%Y-%m-%d}",
                     fmt::gmtime(static_cast<std::time_t>(std::min<std::uint64_t>(unix_s, UINT32_MAX))));
}

std::string file_stem(std::uint64_t first_unix_s, std::uint64_t end_unix_s, std::uint64_t hash) {
  return fmt::format("{}-{}-{:016x}", first_unix_s, end_unix_s, hash);
}

bool is_dataset(const std::string& folder) {
  return !partitions_of(folder, "service").empty();
}

std::vector<std::string> services_in(const std::string& dataset) {
  std::vector<std::string> services;
  for (Partition& partition : partitions_of(dataset, "service"))
    services.push_back(std::move(partition.value));
  std::ranges::sort(services);
  return services;
}

std::vector<SamplesFile> samples_files(const std::string& dataset, const clickhouse::Location& choice) {
  std::vector<SamplesFile> files;
  for (const Partition& service : partitions_of(dataset, "service")) {
    if (service.value != choice.service) continue;
    for (const Partition& date : partitions_of(service.path, "date"))
      for (const Partition& host : partitions_of(date.path, "host")) {
        if (!is_allowed(host.value, choice)) continue;
        for (std::string& path : files_of(host.path, kSamplesEnding)) {
          SamplesFile& file = files.emplace_back();
          file.path = std::move(path);
          file.folder = host.path;
          file.host = host.value;
          take_times(file);
        }
      }
  }
  return files;
}

std::vector<std::string> stacks_files(const std::string& folder) {
  return files_of(folder, kStacksEnding);
}

}  // namespace fathom::dataset
