#include "record/session/memory/file_cache_series.h"

#include <gtest/gtest.h>

#include <map>

#include "model/file_series.h"

namespace fathom::session {
namespace {

sources::CachedFile database(const std::string& path, std::uint64_t cached) {
  sources::CachedFile file;
  file.path = path;
  file.file_bytes = 1000 << 10;
  file.cache.way = sources::CacheWay::kCachestat;
  file.cache.cached = cached;
  file.cache.dirty = 8 << 10;
  file.cache.writeback = 4 << 10;
  file.cache.recently_evicted = 40 << 10;
  return file;
}

std::map<std::string, std::vector<double>> values_of(const model::Profile& profile) {
  std::map<std::string, std::vector<double>> values;
  for (const model::Series& series : profile.series)
    for (const model::Point& point : series.points)
      values[std::string(profile.strings[series.name])].push_back(point.value);
  return values;
}

TEST(FileCacheSeries, HasAPointOfEachKindForEachMoment) {
  model::Profile profile;
  FileCacheSeries series(profile);
  const sources::CachedFile first[] = {database("/db/mdbx.dat", 400 << 10)};
  const sources::CachedFile second[] = {database("/db/mdbx.dat", 300 << 10)};
  series.add(5, 7, first);
  series.add(9, 7, second);
  series.add(9, 7, second);  // the same reading again
  const auto values = values_of(profile);
  ASSERT_EQ(values.size(), 4u);
  EXPECT_EQ(values.at("file.cached{/db/mdbx.dat}"), (std::vector<double>{400 << 10, 300 << 10}));
  EXPECT_EQ(values.at("file.size{/db/mdbx.dat}"), (std::vector<double>{1000 << 10, 1000 << 10}));
  EXPECT_EQ(values.at("file.dirty{/db/mdbx.dat}"), (std::vector<double>{12 << 10, 12 << 10}));
  EXPECT_EQ(values.at("file.evicted{/db/mdbx.dat}"), (std::vector<double>{40 << 10, 40 << 10}));
  for (const model::Series& row : profile.series) EXPECT_EQ(row.pid, 7);
}

TEST(FileCacheSeries, WhatTheKernelDoesNotReportHasNoPoint) {
  model::Profile profile;
  FileCacheSeries series(profile);
  sources::CachedFile files[] = {database("/a.sst", 4096), database("/b.sst", 4096),
                                 database("/c.sst", 4096)};
  files[0].cache.way = sources::CacheWay::kUnknown;
  files[1].cache.whole = false;
  files[2].cache.way = sources::CacheWay::kMincore;
  series.add(5, 7, files);
  const auto values = values_of(profile);
  ASSERT_EQ(values.size(), 2u) << "mincore knows only what is cached";
  EXPECT_TRUE(values.contains("file.cached{/c.sst}"));
  EXPECT_TRUE(values.contains("file.size{/c.sst}"));
}

TEST(FileCacheSeries, FilesHaveABound) {
  model::Profile profile;
  FileCacheSeries series(profile);
  for (int i = 0; i < 1000; ++i) {
    const sources::CachedFile one[] = {database("/" + std::to_string(i) + ".sqlite", 4096)};
    series.add(static_cast<std::uint64_t>(i) + 1, i % 3, one);
  }
  EXPECT_EQ(profile.series.size(), 4 * FileCacheSeries::kMostFiles);
}

TEST(FileSeriesName, IsReadAsItWasWritten) {
  const std::string name = model::file_series_name("cached", "/odd{name}/x}");
  const auto read = model::parse_file_series_name(name);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->kind, "cached");
  EXPECT_EQ(read->path, "/odd{name}/x}");
  for (const char* other :
       {"", "file.", "file.cached", "file.cached{", "memory.rss_file", "metric.file{a}", "}"})
    EXPECT_FALSE(model::parse_file_series_name(other)) << other;
}

}  // namespace
}  // namespace fathom::session
