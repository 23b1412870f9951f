// What the page cache holds of the databases that the recorded processes have mapped, as series of the profile
// (model/file_series.h): whoever brought a page there, and how much was thrown out just before, which is what a database
// beside a growing heap dies of.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "model/profile.h"
#include "sources/memory/page_cache.h"

namespace fathom::session {

class FileCacheSeries {
 public:
  static constexpr std::size_t kMostFiles = 32;  // of all processes; those that are seen first

  explicit FileCacheSeries(model::Profile& profile) : profile_(profile) {}
  // Of one process at one moment. Of a file that the kernel did not tell about, or not to its end, there is no point.
  void add(std::uint64_t time_ns, std::int32_t pid, std::span<const sources::CachedFile> files);

 private:
  struct File {
    std::size_t size = 0, cached = 0;           // rows of profile.series
    std::optional<std::size_t> dirty, evicted;  // where the kernel tells it
    std::uint64_t time_ns = 0;                  // of the last point
  };
  std::size_t add_series(std::string_view kind, const std::string& path, std::int32_t pid);

  model::Profile& profile_;
  std::map<std::pair<std::int32_t, std::string>, File> files_;
};

}  // namespace fathom::session
