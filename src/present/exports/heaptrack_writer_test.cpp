#include "present/exports/heaptrack_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <sstream>

#include "analysis/core/heap.h"
#include "analysis/heap/hand_made_heap.h"
#include "model/random_profile.h"

namespace fathom::present {
namespace {

using testing::ElementsAre;

// The records as heaptrack's own reader takes them.
struct ReadBack {
  std::vector<std::string> strings{""};
  std::vector<std::vector<std::uint64_t>> places{{}};
  std::vector<std::pair<std::uint64_t, std::uint64_t>> traces{{0, 0}};
  std::vector<std::pair<std::uint64_t, std::uint64_t>> allocations;  // size, trace
  std::map<std::uint64_t, double> live_of;                           // by trace
  std::map<std::uint64_t, double> peak_of;
  std::uint64_t calls = 0, frees = 0, temporary = 0, last_ms = 0, peak_ms = 0;
  double bytes = 0, live = 0, peak = 0;
  bool attached = false, ordered = true;
  std::string command;

  explicit ReadBack(const std::string& text) {
    std::istringstream lines(text);
    std::uint64_t last = 0;
    for (std::string line; std::getline(lines, line);) {
      std::istringstream in(line.substr(1));
      in >> std::hex;
      const auto number = [&] {
        std::uint64_t value = 0;
        EXPECT_TRUE(in >> value) << line;
        return value;
      };
      switch (line[0]) {
        case 'X':
          command = line.substr(2);
          break;
        case 'A':
          attached = true;
          break;
        case 's': {
          const std::uint64_t length = number();
          strings.push_back(line.substr(line.size() - length));
          EXPECT_EQ(line, "s " + (std::ostringstream() << std::hex << length).str() + " " + strings.back());
          break;
        }
        case 'i': {
          std::vector<std::uint64_t> row;
          for (std::uint64_t value = 0; in >> value;) row.push_back(value);
          places.push_back(row);
          break;
        }
        case 't': {
          const std::uint64_t ip = number(), parent = number();
          EXPECT_LT(ip, places.size());
          EXPECT_LT(parent, traces.size());
          traces.emplace_back(ip, parent);
          break;
        }
        case 'a': {
          const std::uint64_t size = number(), trace = number();
          EXPECT_LT(trace, traces.size());
          allocations.emplace_back(size, trace);
          break;
        }
        case 'c': {
          const std::uint64_t ms = number();
          ordered = ordered && ms >= last_ms;
          last_ms = ms;
          break;
        }
        case '+': {
          last = number();
          const auto& [size, trace] = allocations.at(last);
          ++calls;
          bytes += static_cast<double>(size);
          live += static_cast<double>(size);
          live_of[trace] += static_cast<double>(size);
          if (live > peak) {
            peak = live;
            peak_of = live_of;
            peak_ms = last_ms;
          }
          break;
        }
        case '-': {
          const std::uint64_t which = number();
          const auto& [size, trace] = allocations.at(which);
          ++frees;
          if (which == last) ++temporary;
          last = 0;
          live -= static_cast<double>(size);
          live_of[trace] -= static_cast<double>(size);
          break;
        }
        default:
          EXPECT_TRUE(line[0] == 'v' || line[0] == 'I' || line[0] == 'R') << line;
      }
    }
  }
  // Functions from the leaf on.
  std::vector<std::string> stack(std::uint64_t trace) const {
    std::vector<std::string> names;
    for (; trace != 0; trace = traces[trace].second) {
      const auto& place = places[traces[trace].first];
      for (std::size_t i = 2; i < place.size(); i += 3) names.push_back(strings.at(place[i]));
    }
    return names;
  }
};

struct Written {
  HeaptrackWritten outcome;
  std::string text;
};
Written written(const model::Profile& profile, const HeaptrackOptions& options = {}) {
  Written result;
  result.outcome =
      write_heaptrack(profile, options, [&](std::string_view text) { result.text += text; }).value();
  return result;
}

model::Profile server() {
  analysis::HandMadeHeap hand = analysis::small_heap();
  hand.profile.meta.target = "server --port 1";
  hand.profile.heap.heaps[0].from_start = true;
  return hand.profile;
}

TEST(Heaptrack, HoldsAllCallsAndBytesOfEveryStack) {
  const ReadBack read(written(server()).text);
  EXPECT_EQ(read.command, "server --port 1");
  EXPECT_EQ(read.calls, 61'160u);
  EXPECT_EQ(read.frees, 60'120u);
  EXPECT_EQ(read.bytes, 15'102'560);
  EXPECT_EQ(read.live, 1'002'560);
  EXPECT_FALSE(read.attached);
  EXPECT_TRUE(read.ordered);
  EXPECT_EQ(read.last_ms, 3000u);
  std::map<std::string, double> live;
  for (const auto& [trace, bytes] : read.live_of)
    if (bytes != 0) live[read.stack(trace).front()] += bytes;
  EXPECT_THAT(
      live, ElementsAre(testing::Pair("server::Cache::put(int)", 1'000'000), testing::Pair("strdup", 2560)));
}

TEST(Heaptrack, TemporaryBlocksAreFreedAtOnceAndNoOthers) {
  EXPECT_EQ(ReadBack(written(server()).text).temporary, 48'000u);
}

TEST(Heaptrack, ThePeakIsWhereItWasAndMadeOfWhatItWas) {
  model::Profile profile = server();
  // What small_heap() says of the peak fits its second slice but for the requests, which are all freed there.
  profile.heap.summaries[0].peak = {1, 6'000'000};
  const ReadBack read(written(profile).text);
  EXPECT_EQ(read.peak_ms, 1500u);
  std::map<std::string, double> peak;
  for (const auto& [trace, bytes] : read.peak_of)
    if (bytes != 0) peak[read.stack(trace).front()] += bytes;
  EXPECT_EQ(peak["std::vector<char>::_M_default_append(unsigned long)"], 6'000'000);
  EXPECT_EQ(peak["server::Cache::put(int)"], 1'000'000);
  EXPECT_EQ(peak["server::request::parse"], 1000);
  EXPECT_NEAR(read.peak, 7'001'960, 700);
}

TEST(Heaptrack, InlinedCallsAndFilesAreInTheirPlaces) {
  analysis::HandMadeHeap hand;
  hand.process(10, "server");
  const auto app = hand.module("server");
  const auto leaf = hand.builder.frame_with_lines(
      app, {0x123},
      {{"operator new(unsigned long)", "", 0}, {"inner", "/src/a.h", 16}, {"outer", "/src/a.cpp", 255}});
  hand.slice();
  hand.row(hand.site(hand.builder.stack({0}, leaf)), {3, 100});
  const std::string text = written(hand.profile).text;
  EXPECT_THAT(text, testing::HasSubstr("\ni 123 1 2 3 10 4 5 ff\nt 1 0\na 0 0\n"));
  EXPECT_THAT(text, testing::HasSubstr("\nA\n")) << "it was attached to";
  const ReadBack read(text);
  EXPECT_THAT(read.stack(1), ElementsAre("inner", "outer"));
  EXPECT_EQ(read.bytes, 100);
  EXPECT_EQ(read.calls, 3u);
}

TEST(Heaptrack, TooManyCallsAreScaledAndThatIsReported) {
  const Written result = written(server(), {.most_calls = 20'000});
  EXPECT_EQ(result.outcome.blocks_per_call, 7u);
  EXPECT_THAT(result.outcome.notes, testing::Contains(testing::HasSubstr("too many calls")));
  const ReadBack read(result.text);
  EXPECT_LT(read.calls + read.frees, 20'010u);
  EXPECT_EQ(result.outcome.calls, read.calls + read.frees);
  EXPECT_NEAR(read.bytes, 15'102'560, 5000);
  EXPECT_NEAR(read.live, 1'002'560, 5000);
}

TEST(Heaptrack, OfAnyProfileTheSumsAreThere) {
  int seen = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const model::Profile profile = model::random_profile(seed);
    if (profile.heap.empty()) continue;
    const analysis::HeapSums sums(profile, {});
    const double bytes = sums.total().allocated.bytes.value;
    if (bytes > 1e15) continue;
    const Written result = written(profile, {.most_calls = 20'000});
    const ReadBack read(result.text);
    EXPECT_TRUE(read.ordered) << "seed " << seed;
    EXPECT_EQ(result.outcome.calls, read.calls + read.frees) << "seed " << seed;
    EXPECT_LE(read.calls + read.frees, 20'000 + 4 * profile.heap.rows.size()) << "seed " << seed;
    EXPECT_LE(read.bytes, bytes * (1 + 1e-9) + static_cast<double>(profile.heap.sites.size()))
        << "seed " << seed;
    if (read.calls > 0) ++seen;
  }
  EXPECT_GT(seen, 5);
}

TEST(Heaptrack, RefusesWhatItCannotSay) {
  const auto ignore = [](std::string_view) {};
  EXPECT_EQ(write_heaptrack(analysis::small_server(), {}, ignore).error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(write_heaptrack(server(), {.selection = {.from_ns = 1}}, ignore).error().kind, ErrorKind::kUsage);
}

}  // namespace
}  // namespace fathom::present
