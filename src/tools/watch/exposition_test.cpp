#include "tools/watch/exposition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <set>

#include "base/files.h"
#include "linux/metrics/write_text.h"

namespace fathom::watch {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::uint64_t kOneSecond = 1'000'000'000, kMiBytes = 1 << 20;

const std::vector<std::string_view> kKinds{
    "heap",   "heap-live", "heap-free",    "mapped", "anonymous", "thread-stacks", "main-stack",
    "code",   "file",      "copied-pages", "memfd",  "system-v",  "shm",           "shared-anonymous",
    "tracer", "kernel",    "not-split"};

// All that a look can have.
Look full_look(std::uint64_t second, std::uint64_t anonymous_mib) {
  Look look;
  look.time_ns = (second + 1) * kOneSecond;
  look.figures.anonymous = anonymous_mib * kMiBytes;
  look.figures.rss = look.figures.anonymous + 100 * kMiBytes;
  look.figures.minor_faults = 1000 * second;
  look.figures.user_cpu_ns = second * kOneSecond / 4;
  look.pressure = sources::Pressure{second * 20'000, 0};
  auto composition = std::make_shared<Composition>();
  composition->time_ns = look.time_ns;
  composition->way = static_cast<Way>(second % 3);
  composition->lines.rss_bytes = look.figures.rss;
  composition->lines.unexplained_bytes = -4096;
  for (const std::string_view kind : kKinds)
    composition->lines.lines.push_back(
        {.kind = kind, .name = "/db/" + std::to_string(second), .bytes = kMiBytes});
  look.composition = composition;
  look.limits.limits.push_back(
      {static_cast<sources::LimitKind>(second % 4), "/a", 1000 * kMiBytes, look.figures.rss, 0});
  look.limits.group = sources::ControlGroup{2, "/a", 500 * kMiBytes, {1, 2, 3, 4, 5, 6}};
  look.pressure_of_group = second % 2 == 0;
  return look;
}

View view_of(std::int32_t pid, const std::string& name, std::uint64_t looks = 12, std::uint64_t from = 0) {
  History history(pid, name);
  View view;
  for (std::uint64_t i = 0; i < looks; ++i)
    view = history.add(full_look(from + i, 100 + 10 * i), i, kMiBytes, {"x"});
  return view;
}

std::string text_of(const std::vector<metrics::Family>& families) {
  return metrics::write_text(families, metrics::Format::kPrometheus);
}

TEST(Exposition, ReportsThePartsAndWhenTheLimitIsHit) {
  Places places;
  const View view = view_of(7, "node");
  const std::string text =
      text_of(make_families({{places.take("node"), &view}}, places, {2'500'000'000, kMiBytes, 3, 1}));
  EXPECT_THAT(text, HasSubstr("fathom_process_up{process=\"node\",place=\"1\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("fathom_process_pid{process=\"node\",place=\"1\"} 7\n"));
  EXPECT_THAT(text, HasSubstr("fathom_memory_rss_bytes{process=\"node\",place=\"1\"} 325058560\n"));
  EXPECT_THAT(text,
              HasSubstr("fathom_memory_part_bytes{process=\"node\",place=\"1\",part=\"heap\"} 1048576\n"));
  EXPECT_THAT(text, HasSubstr("fathom_memory_unexplained_bytes{process=\"node\",place=\"1\"} -4096\n"));
  EXPECT_THAT(text,
              HasSubstr("fathom_memory_growth_bytes_per_second{process=\"node\",place=\"1\",of=\"anonymous\","
                        "bound=\"estimate\"} 10485760\n"));
  // 1000 MiB less 310 MiB, 10 MiB a second.
  EXPECT_THAT(
      text,
      HasSubstr("fathom_memory_limit_left_seconds{process=\"node\",place=\"1\",bound=\"estimate\"} 69\n"));
  EXPECT_THAT(
      text,
      HasSubstr("fathom_process_page_faults_total{process=\"node\",place=\"1\",kind=\"minor\"} 11000\n"));
  EXPECT_THAT(
      text, HasSubstr("fathom_process_cpu_seconds_total{process=\"node\",place=\"1\",mode=\"user\"} 2.75\n"));
  EXPECT_THAT(text, HasSubstr("fathom_own_cpu_seconds_total 2.5\n"));
  EXPECT_THAT(text, HasSubstr("fathom_own_requests_total{outcome=\"refused\"} 1\n"));
}

TEST(Exposition, WhereGrowthIsNotCertainTheLimitIsNeverMet) {
  Places places;
  History history(7, "node");
  View view;
  for (std::uint64_t i = 0; i < 12; ++i) view = history.add(full_look(4 * i, 100), i, kMiBytes, {});
  EXPECT_THAT(
      text_of(make_families({{places.take("node"), &view}}, places, {})),
      HasSubstr("fathom_memory_limit_left_seconds{process=\"node\",place=\"1\",bound=\"least\"} +Inf\n"));
}

TEST(Exposition, TheFirstLookHasNoGrowth) {
  Places places;
  const View view = view_of(7, "node", 1);
  const std::string text = text_of(make_families({{places.take("node"), &view}}, places, {}));
  EXPECT_THAT(text, Not(HasSubstr("growth")));
  EXPECT_THAT(text, Not(HasSubstr("left_seconds")));
  EXPECT_THAT(text, HasSubstr("fathom_memory_rss_bytes"));
}

// The kernel would hold up a large process for too long to say it.
TEST(Exposition, WhatIsNotKnownOfALargeProcessIsNotServed) {
  Places places;
  View view = view_of(7, "node");
  auto composition = std::make_shared<Composition>(*view.look.composition);
  composition->sharing.reset();
  view.look.composition = composition;
  const auto place = places.take("node");
  EXPECT_THAT(text_of(make_families({{place, &view}}, places, {})), Not(HasSubstr("lazy_free")));
  composition = std::make_shared<Composition>(*composition);
  composition->sharing.emplace().lazy_free = 4096;
  view.look.composition = composition;
  EXPECT_THAT(text_of(make_families({{place, &view}}, places, {})),
              HasSubstr("fathom_memory_lazy_free_bytes{process=\"node\",place=\"1\"} 4096\n"));
}

TEST(Exposition, AnUnknownPartIsOneOfTheOthers) {
  Places places;
  View view = view_of(7, "node");
  auto composition = std::make_shared<Composition>(*view.look.composition);
  composition->lines.lines = {{.kind = "new-one", .name = "a", .bytes = 1},
                              {.kind = "another", .name = "b", .bytes = 2}};
  view.look.composition = composition;
  EXPECT_THAT(text_of(make_families({{places.take("node"), &view}}, places, {})),
              HasSubstr("part=\"other\"} 3\n"));
}

TEST(Exposition, AThousandRestartsHaveNoMoreSeriesThanOneProcess) {
  Places places;
  std::set<std::string> series;
  for (std::int32_t restart = 0; restart < 1000; ++restart) {
    const Places::Place place = places.take("node");
    const View view = view_of(1000 + restart, "node", 5, static_cast<std::uint64_t>(restart));
    for (const metrics::Family& family : make_families({{place, &view}}, places, {}))
      for (const metrics::Sample& sample : family.samples) {
        std::string key = sample.name;
        for (const metrics::Label& label : sample.labels) key += "," + label.name + "=" + label.value;
        if (key.starts_with("fathom_own_")) continue;
        series.insert(key);
      }
    places.leave(place);
  }
  EXPECT_LE(series.size(), kMostSeries);
  EXPECT_GE(series.size(), 60U) << "the looks of this test have nearly everything";
  EXPECT_EQ(places.starts({"node", 1}), 1000U);
}

std::size_t series_in(const std::vector<metrics::Family>& families) {
  std::size_t series = 0;
  for (const metrics::Family& family : families) series += family.samples.size();
  return series;
}

TEST(Exposition, AThousandProcessesOfOtherNamesLeaveABoundedNumberOfSeries) {
  Places places;
  for (int i = 0; i < 1000; ++i) {
    const Places::Place place = places.take("worker-" + std::to_string(i));
    const View view = view_of(1000 + i, place.name, 1);
    const auto families = make_families({{place, &view}}, places, {});
    EXPECT_LE(series_in(families), kMostSeries + 2 * Places::kMostEnded + 10);
    places.leave(place);
  }
  EXPECT_EQ(places.all().size(), Places::kMostEnded);
}

TEST(Exposition, NamesThatDifferInAnyByteAreOtherSeries) {
  Places places;
  const View view = view_of(1, "a", 1);
  std::vector<ServedView> views;
  for (const char* name : {"a\x01", "a\x02", "a?", "a\n", "a\\n", "a\\x0a", "a\xff", "a\xfe", "a\xef\xbf\xbd",
                           "a\xc3\xa9", "a\xc3"})
    views.push_back({places.take(name), &view});
  std::set<std::string> lines;
  const std::string text = text_of(make_families(views, places, {}));
  for (std::size_t start = 0; (start = text.find("\nfathom_process_up{", start)) != text.npos; ++start)
    EXPECT_TRUE(lines.insert(text.substr(start, text.find('\n', start + 1) - start)).second);
  EXPECT_EQ(lines.size(), views.size()) << text;
}

TEST(LabelOfName, IsReadAsItIsWhereItCanBe) {
  EXPECT_EQ(label_of_name("op-reth {1}"), "op-reth {1}");
  EXPECT_EQ(label_of_name("caf\xc3\xa9"), "caf\xc3\xa9");
  EXPECT_EQ(label_of_name("a\nb\\"), "a\\x0ab\\\\");
  EXPECT_EQ(label_of_name("\xc3"), "\\xc3");
  EXPECT_EQ(label_of_name("\xff\xfe"), "\\xff\\xfe");
}

TEST(Exposition, NoSeriesIsThereTwice) {
  Places places;
  const View one = view_of(1, "node"), two = view_of(2, "node");
  const auto first = places.take("node"), second = places.take("node");
  std::set<std::string> lines;
  for (const metrics::Family& family : make_families({{first, &one}, {second, &two}}, places, {}))
    for (const metrics::Sample& sample : family.samples) {
      std::string key = sample.name;
      for (const metrics::Label& label : sample.labels) key += "," + label.name + "=" + label.value;
      EXPECT_TRUE(lines.insert(key).second) << key;
    }
}

TEST(Places, AreTakenFromTheLowestOnAndTakenAgain) {
  Places places;
  const auto first = places.take("node"), second = places.take("node"), other = places.take("geth");
  EXPECT_EQ(first.number, 1U);
  EXPECT_EQ(second.number, 2U);
  EXPECT_EQ(other.number, 1U);
  places.leave(first);
  EXPECT_EQ(places.take("node"), first);
  EXPECT_EQ(places.starts(first), 2U);
  EXPECT_EQ(places.starts(second), 1U);
}

TEST(Places, OneThatIsTakenIsNeverForgottenAndOneThatWasLeftLongAgoIs) {
  Places places;
  const auto stays = places.take("node"), ends = places.take("ends");
  places.leave(ends);
  for (std::size_t i = 0; i < Places::kMostEnded; ++i) {
    EXPECT_EQ(places.starts(ends), 1U);
    places.leave(places.take("worker-" + std::to_string(i)));
  }
  EXPECT_EQ(places.starts(ends), 0U);
  EXPECT_EQ(places.starts(stays), 1U);
  EXPECT_EQ(places.take("worker-5").number, 1U);
  EXPECT_EQ(places.starts({"worker-5", 1}), 2U);
}

TEST(Places, OneThatIsEmptyIsReported) {
  Places places;
  places.leave(places.take("node"));
  const std::string text = text_of(make_families({}, places, {}));
  EXPECT_THAT(text, HasSubstr("fathom_process_up{process=\"node\",place=\"1\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("fathom_process_starts_total{process=\"node\",place=\"1\"} 1\n"));
}

TEST(Dashboards, NameNoMetricThatIsNotServed) {
  Places places;
  View view = view_of(7, "node");
  view.look.counted = {{model::CountedLimit::Kind::kMappings, 10, 20}};
  std::set<std::string> served;
  for (const metrics::Family& family : make_families({{places.take("node"), &view}}, places, {}))
    for (const metrics::Sample& sample : family.samples) served.insert(sample.name);
  const std::string folder = "../../../dashboards/";
  const std::string rules = read_file(folder + "fathom.rules.yml").value();
  const std::regex record("record: (fathom:[a-z0-9_:]+)"), name("fathom[_:][a-z0-9_:]+");
  for (auto i = std::sregex_iterator(rules.begin(), rules.end(), record); i != std::sregex_iterator(); ++i)
    served.insert((*i)[1].str());
  std::size_t named = 0;
  for (const char* file : {"fathom.rules.yml", "fathom.rules.test.yml", "fathom-memory.json"}) {
    const std::string text = read_file(folder + file).value();
    for (auto i = std::sregex_iterator(text.begin(), text.end(), name); i != std::sregex_iterator(); ++i) {
      if (i->str() == "fathom_alerts" || i->str() == "fathom_recording") continue;  // names of groups
      EXPECT_TRUE(served.contains(i->str())) << file << " names " << i->str();
      ++named;
    }
  }
  EXPECT_GT(named, 50U);
}

}  // namespace
}  // namespace fathom::watch
