#include "present/text/text_memory.h"

#include <gtest/gtest.h>

#include "analysis/memory/hand_made_memory.h"
#include "base/golden.h"
#include "model/file_series.h"
#include "model/random_profile.h"

namespace fathom::present {
namespace {

TEST(TextMemory, OfAServer) {
  const analysis::HandMadeMemory hand = analysis::memory_of_small_heap();
  const auto breakdown = analysis::make_rss_breakdown(hand.profile, {}).value();
  expect_golden("memory.txt", memory_text(breakdown, {}, true));
}

TEST(TextMemory, OfAServerThatWasSampled) {
  const analysis::HandMadeMemory hand = analysis::memory_of_small_heap(model::HeapMode::kSampled);
  const auto breakdown = analysis::make_rss_breakdown(hand.profile, {}).value();
  expect_golden("memory_sampled.txt", memory_text(breakdown, {.width = 80, .top = 5}, true));
}

TEST(TextMemory, TheCacheOfAMappedDatabaseIsReported) {
  analysis::HandMadeMemory hand = analysis::memory_of_small_heap();
  const auto series = [&](std::string_view kind, std::string_view path, double first, double last) {
    model::Series made;
    made.name = hand.profile.strings.intern(model::file_series_name(kind, path));
    made.unit = hand.profile.strings.intern("bytes");
    made.pid = hand.profile.processes.front().pid;
    made.points = {{hand.profile.meta.start_ns + 1, first},
                   {hand.profile.meta.start_ns + 2'900'000'000, last}};
    hand.profile.series.push_back(std::move(made));
  };
  constexpr double kMiB = 1 << 20;
  series("size", "/db/mdbx.dat", 4096 * kMiB, 4096 * kMiB);
  series("cached", "/db/mdbx.dat", 1500 * kMiB, 1024 * kMiB);
  series("dirty", "/db/mdbx.dat", 0, 3 * kMiB);
  series("evicted", "/db/mdbx.dat", 0, 476 * kMiB);
  series("size", "/db/state/", 10 * kMiB, 10 * kMiB);
  series("cached", "/db/state/", 10 * kMiB, 10 * kMiB);
  const auto breakdown = analysis::make_rss_breakdown(hand.profile, {}).value();
  const std::string text = memory_text(breakdown, {}, true);
  const std::size_t at = text.find("\nPage cache of mapped databases");
  ASSERT_NE(at, std::string::npos);
  expect_golden("memory_file_caches.txt", text.substr(at));
}

TEST(TextMemory, OfAnyProfileHoldsNoControlCharacters) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const model::Profile profile = model::random_profile(seed);
    const auto breakdown = analysis::make_rss_breakdown(profile, {});
    if (!breakdown) continue;
    for (const char c : memory_text(*breakdown, {.top = 0}, true))
      ASSERT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20) << "seed " << seed;
  }
}

}  // namespace
}  // namespace fathom::present
