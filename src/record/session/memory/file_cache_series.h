// The page cache of databases mapped by the recorded processes, as series of the profile
// (model/file_series.h): cached pages, whichever process read them, and recently evicted ones. A database
// next to a growing heap dies of evictions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "linux/memory/page_cache.h"
#include "model/profile.h"

namespace fathom::session {

class FileCacheSeries {
 public:
  static constexpr std::size_t kMostFiles = 32;  // of all processes; those that are seen first

  explicit FileCacheSeries(model::Profile& profile) : profile_(profile) {}
  // Of one process at one moment. A file that the kernel did not report, or not completely, gets no point.
  void add(std::uint64_t time_ns, std::int32_t pid, std::span<const sources::CachedFile> files);

 private:
  struct File {
    std::size_t size = 0, cached = 0;           // rows of profile.series
    std::optional<std::size_t> dirty, evicted;  // if the kernel reports it
    std::uint64_t time_ns = 0;                  // of the last point
  };
  std::size_t add_series(std::string_view kind, const std::string& path, std::int32_t pid);

  model::Profile& profile_;
  std::map<std::pair<std::int32_t, std::string>, File> files_;
};

}  // namespace fathom::session
