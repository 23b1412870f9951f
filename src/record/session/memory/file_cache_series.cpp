#include "record/session/memory/file_cache_series.h"

#include "model/file_series.h"

namespace fathom::session {

std::size_t FileCacheSeries::add_series(std::string_view kind, const std::string& path, std::int32_t pid) {
  model::Series series;
  series.name = profile_.strings.intern(model::file_series_name(kind, path));
  series.unit = profile_.strings.intern("bytes");
  series.pid = pid;
  profile_.series.push_back(series);
  return profile_.series.size() - 1;
}

void FileCacheSeries::add(std::uint64_t time_ns, std::int32_t pid,
                          std::span<const sources::CachedFile> files) {
  for (const sources::CachedFile& file : files) {
    if (file.cache.way == sources::CacheWay::kUnknown || !file.cache.whole) continue;
    const bool tells_all = file.cache.way == sources::CacheWay::kCachestat;
    auto known = files_.find({pid, file.path});
    if (known == files_.end()) {
      if (files_.size() >= kMostFiles) continue;
      File made;
      made.size = add_series("size", file.path, pid);
      made.cached = add_series("cached", file.path, pid);
      if (tells_all) {
        made.dirty = add_series("dirty", file.path, pid);
        made.evicted = add_series("evicted", file.path, pid);
      }
      known = files_.emplace(std::pair(pid, file.path), made).first;
    } else if (time_ns <= known->second.time_ns) {
      continue;
    }
    File& of = known->second;
    of.time_ns = time_ns;
    const auto point = [&](std::size_t row, std::uint64_t bytes) {
      profile_.series[row].points.push_back({time_ns, static_cast<double>(bytes)});
    };
    point(of.size, file.file_bytes);
    point(of.cached, file.cache.cached);
    if (tells_all && of.dirty) point(*of.dirty, file.cache.dirty + file.cache.writeback);
    if (tells_all && of.evicted) point(*of.evicted, file.cache.recently_evicted);
  }
}

}  // namespace fathom::session
