#include "tools/watch/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "present/text/text_table.h"
#include "tools/watch/json.h"

namespace fathom::watch {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::uint64_t kMiBOfText = 1 << 20;

View a_view() {
  View view;
  view.pid = 812;
  view.name = "no\x1b[de";
  view.look.wall_ns = 1'764'000'000'250'000'000;
  view.look.figures.rss = 512 * kMiBOfText;
  view.look.figures.rss_peak = 600 * kMiBOfText;
  view.look.figures.anonymous = 400 * kMiBOfText;
  view.look.figures.page_tables = 2 * kMiBOfText;
  auto composition = std::make_shared<Composition>();
  composition->way = Way::kPageScan;
  composition->lines.rss_bytes = 512 * kMiBOfText;
  composition->longest_call_ns = 400'000;
  const auto add = [&](std::string_view kind, const std::string& name, std::uint64_t mib) {
    analysis::MemoryLine line;
    line.kind = kind;
    line.name = name;
    line.bytes = mib * kMiBOfText;
    line.ranges = 1;
    composition->lines.lines.push_back(line);
    view.lines.push_back({line, {}, {}, {}});
  };
  add("heap", "heap of brk", 380);
  add("file", "/var/lib/mdbx.dat", 100);
  add("thread-stacks", "thread stacks", 32);
  view.look.composition = composition;
  view.limit = sources::MemoryLimit{sources::LimitKind::kControlGroup, "/node", 1024 * kMiBOfText,
                                    512 * kMiBOfText, 100 * kMiBOfText};
  return view;
}

TEST(WatchText, AFirstLookHasSizesAndNoSlopes) {
  const std::string text = screen_text(a_view(), {});
  EXPECT_THAT(text, HasSubstr("no?[de (pid 812) · RSS 512.0 MiB · peak 600.0 MiB"));
  EXPECT_THAT(text, HasSubstr("control group /node 612.0 MiB of 1.0 GiB free"));
  EXPECT_THAT(text, HasSubstr("380.0 MiB"));
  EXPECT_THAT(text, HasSubstr("thread stacks (1)"));
  EXPECT_THAT(text, HasSubstr("unexplained 0"));
  EXPECT_THAT(text, HasSubstr("2.0 MiB page tables"));
  EXPECT_THAT(text, HasSubstr("no reading longer than 400 us"));
  EXPECT_THAT(text, Not(HasSubstr("growing")));
  EXPECT_THAT(text, Not(HasSubstr("\x1b"))) << "no codes where none are asked for";
}

TEST(WatchText, GrowthHasItsIntervalAndTheTimeLeft) {
  View view = a_view();
  view.rss_slope = view.anonymous_slope =
      analysis::Slope{1.0 * kMiBOfText, 0.9 * kMiBOfText, 1.1 * kMiBOfText};
  view.time_left = analysis::TimeLeft{612, 556, 680};
  view.rss_change = kMiBOfText;
  view.minor_faults_per_s = 1200.4;
  view.major_faults_per_s = 3;
  view.pressure_some = 0.002;
  const std::string text = screen_text(view, {});
  EXPECT_THAT(text, HasSubstr("+1.0 MiB/s ±102.4 KiB"));
  EXPECT_THAT(text, HasSubstr("full in 10 min (9 min to 11 min)"));
  EXPECT_THAT(text, HasSubstr("faults 1,203/s, 3 of them from disk"));
  EXPECT_THAT(text, HasSubstr("pressure 0.2 %"));
  view.anonymous_slope = view.rss_slope = analysis::Slope{10, -5, 25};
  view.time_left.reset();
  EXPECT_THAT(screen_text(view, {}), HasSubstr("level"));
  EXPECT_THAT(screen_text(view, {}), HasSubstr("not growing"));
}

// The same look as `fathom top`.
TEST(WatchText, AScreenHasATitleAnUnderlinedHeadAndHotPartsThatGrow) {
  View view = a_view();
  view.lines[1].slope = analysis::Slope{1.0 * kMiBOfText, 0.9 * kMiBOfText, 1.1 * kMiBOfText};
  view.lines[2].slope = analysis::Slope{10, -5, 25};
  const std::vector<tui::ScreenLine> lines = screen_lines(view, {.width = 80, .height = 24});
  EXPECT_EQ(lines.front().style, tui::Style::kTitle);
  EXPECT_EQ(lines.back().style, tui::Style::kFaint) << "what fathom itself uses";
  std::vector<std::string> heads, hot;
  for (const tui::ScreenLine& line : lines) {
    if (line.style == tui::Style::kHead) heads.push_back(line.text);
    if (line.style == tui::Style::kHot) hot.push_back(line.text);
  }
  EXPECT_THAT(heads, testing::ElementsAre(HasSubstr("part")));
  EXPECT_THAT(hot, testing::ElementsAre(HasSubstr("mdbx.dat")));
  EXPECT_THAT(screen_text(view, {.color = true}), HasSubstr("\x1b[1;31m"));
}

TEST(WatchText, ByGrowthThePartThatCertainlyGrowsFastestIsFirst) {
  View view = a_view();
  view.lines[0].slope = analysis::Slope{2.0 * kMiBOfText, -1.0 * kMiBOfText, 5.0 * kMiBOfText};  // uncertain
  view.lines[1].slope = analysis::Slope{1.0 * kMiBOfText, 0.9 * kMiBOfText, 1.1 * kMiBOfText};
  view.lines[2].slope = analysis::Slope{3.0 * kMiBOfText, 2.9 * kMiBOfText, 3.1 * kMiBOfText};
  const std::string text = screen_text(view, {.by_growth = true});
  EXPECT_LT(text.find("thread stacks"), text.find("mdbx.dat")) << text;
  EXPECT_LT(text.find("mdbx.dat"), text.find("heap of brk")) << text;
}

TEST(WatchText, FitsTheScreenOfAnySize) {
  View view = a_view();
  for (int i = 0; i < 100; ++i) {
    LineView line;
    line.line.kind = "file";
    line.line.name = "/a/rather/long/path/to/some/table/of/the/database/number/" + std::to_string(i);
    line.line.bytes = kMiBOfText;
    view.lines.push_back(line);
  }
  for (const std::size_t height : {12u, 24u, 50u}) {
    const std::string text = screen_text(view, {.width = 80, .height = height});
    EXPECT_LE(std::count(text.begin(), text.end(), '\n'), static_cast<std::ptrdiff_t>(height)) << text;
    EXPECT_THAT(text, HasSubstr("smaller parts"));
  }
}

TEST(WatchText, MovedMemoryIsReported) {
  View view = a_view();
  auto composition = std::make_shared<Composition>(*view.look.composition);
  composition->lines.unexplained_bytes = -260 * 1024;
  composition->moved = true;
  view.look.composition = composition;
  view.missing = {"pressure: not told"};
  EXPECT_THAT(screen_text(view, {}), HasSubstr("unexplained -260.0 KiB, moved during the reading"));
  EXPECT_THAT(screen_text(view, {}), HasSubstr("missing: pressure: not told"));
}

TEST(WatchText, ALineHasTheLargestParts) {
  const std::string line = line_text(a_view());
  EXPECT_THAT(line, HasSubstr("RSS 512.0 MiB, heap of brk 380.0 MiB, mdbx.dat 100.0 MiB"));
  EXPECT_THAT(line, Not(HasSubstr("\n")));
  EXPECT_EQ(ending_text(7, "node", "killed by signal 9 (SIGKILL)", 512 * kMiBOfText),
            "node (pid 7) was killed by signal 9 (SIGKILL); its last RSS was 512.0 MiB");
  EXPECT_EQ(ending_text(7, "node", "exited with status 0", 0),
            "node (pid 7) exited with status 0; its last RSS was 0 bytes");
}

TEST(WatchText, SparklinesRunFromTheLowestToTheHighest) {
  EXPECT_EQ(sparkline(std::vector<double>{0, 1}, 10), "▁█");
  EXPECT_EQ(sparkline(std::vector<double>{5, 5, 5}, 10), "▁▁▁");
  EXPECT_EQ(sparkline(std::vector<double>{1}, 10), "");
  std::vector<double> many;
  for (int i = 0; i < 1000; ++i) many.push_back(i);
  EXPECT_EQ(present::display_width(sparkline(many, 12)), 12u);
}

TEST(WatchText, MappingsAddUp) {
  std::vector<WatchedMapping> mappings(3);
  for (std::size_t i = 0; i < mappings.size(); ++i) {
    sources::MemoryMapping& mapping = mappings[i].judged.mapping;
    mapping.entry.start = {0x1000 * (i + 1)};
    mapping.entry.end = {0x1000 * (i + 2)};
    mapping.rss = mapping.anonymous = 4096;
  }
  mappings[0].judged.use = sources::MappingUse::kThreadStack;
  mappings[0].judged.name = "worker";
  mappings[1].judged.name = "[anon:pool]";
  const std::string text = mappings_text(mappings, {});
  EXPECT_THAT(text, HasSubstr("stack of thread worker"));
  EXPECT_THAT(text, HasSubstr("[anon:pool]"));
  EXPECT_THAT(text, HasSubstr("12.0 KiB"));
  EXPECT_THAT(text, HasSubstr("3 mappings"));
  EXPECT_THAT(mappings_text(mappings, {.top = 1}), HasSubstr("1 of 3 mappings shown"));
}

TEST(WatchText, AnonymousMappingsAreNamedAfterTheAllocatorThatFillsThem) {
  WatchedMapping mapping;
  mapping.judged.mapping.rss = 100 * kMiBOfText;
  EXPECT_EQ(name_of(mapping), "anonymous");
  mapping.allocator = "jemalloc";
  mapping.allocator_bytes = 95 * kMiBOfText;
  EXPECT_EQ(name_of(mapping), "heap, jemalloc");
  mapping.allocator_bytes = 40 * kMiBOfText;
  EXPECT_EQ(name_of(mapping), "anonymous, 40.0 MiB of it heap of jemalloc");
  mapping.judged.name = "[anon:pool]";
  EXPECT_EQ(name_of(mapping), "[anon:pool]") << "the program's own name";
}

TEST(WatchText, SharedAndDirtyPagesHaveColumnsWhereTheyWereRead) {
  std::vector<WatchedMapping> mappings(2);
  mappings[0].judged.mapping.rss = mappings[1].judged.mapping.rss = 8 * kMiBOfText;
  EXPECT_THAT(mappings_text(mappings, {}), Not(HasSubstr("PSS")));
  mappings[0].sharing = {3 * kMiBOfText, 2 * kMiBOfText};
  mappings[1].sharing = {4 * kMiBOfText, 0};
  const std::string text = mappings_text(mappings, {});
  EXPECT_THAT(text, HasSubstr("PSS"));
  EXPECT_THAT(text, HasSubstr("7.0 MiB")) << "the sum";
  const auto json = nlohmann::json::parse(mappings_json(7, "node", mappings));
  EXPECT_EQ(json["mappings"][0]["pss_bytes"], 3 * kMiBOfText);
  EXPECT_EQ(json["mappings"][0]["dirty_bytes"], 2 * kMiBOfText);
  EXPECT_TRUE(json["mappings"][0]["allocator"].is_null());
  EXPECT_FALSE(json["mappings"][0].contains("change_bytes"));
}

TEST(WatchText, AScreenSaysWhatIsSharedWithOtherProcesses) {
  View view = a_view();
  EXPECT_THAT(screen_text(view, {}), Not(HasSubstr("sharing")));
  auto composition = std::make_shared<Composition>(*view.look.composition);
  composition->sharing = {1 * kMiBOfText,  400 * kMiBOfText, 100 * kMiBOfText,
                          11 * kMiBOfText, 450 * kMiBOfText, 0};
  view.look.composition = composition;
  EXPECT_THAT(screen_text(view, {.width = 0}),
              HasSubstr("  sharing: 401.0 MiB private, 400.0 MiB of it dirty; 111.0 MiB shared with other "
                        "processes; PSS 450.0 MiB\n"));
  EXPECT_EQ(nlohmann::json::parse(look_json(view))["sharing"]["pss_bytes"], 450 * kMiBOfText);
}

TEST(WatchText, ExplicitHugePagesOfAMappingStandInTheirColumn) {
  std::vector<WatchedMapping> mappings(1);
  mappings[0].judged.mapping.entry.end = {32 << 20};
  mappings[0].judged.mapping.huge_file = 24 << 20;
  mappings[0].judged.name = "/anon_hugepage";
  const std::string text = mappings_text(mappings, {});
  EXPECT_THAT(text, HasSubstr("24.0 MiB"));
  const auto json = nlohmann::json::parse(mappings_json(7, "node", mappings));
  EXPECT_EQ(json["mappings"][0]["huge_file_bytes"], 24 << 20);
  EXPECT_EQ(json["mappings"][0]["rss_bytes"], 0);
}

TEST(WatchJson, IsOneLineWithTheFieldsThatScriptsRead) {
  const std::string text = look_json(a_view());
  EXPECT_EQ(text.find('\n'), std::string::npos);
  const auto json = nlohmann::json::parse(text);
  EXPECT_EQ(json.at("time"), "2025-11-24T16:00:00.250Z");
  EXPECT_EQ(json.at("rss_bytes"), 512 * kMiBOfText);
  EXPECT_EQ(json.at("unexplained_bytes"), 0);
  std::uint64_t sum = 0;
  for (const auto& part : json.at("parts")) {
    EXPECT_FALSE(part.at("name").get<std::string>().empty());
    sum += part.at("bytes").get<std::uint64_t>();
  }
  EXPECT_EQ(sum, 512 * kMiBOfText);
  EXPECT_EQ(json.at("limit").at("room_bytes"), 612 * kMiBOfText);
  EXPECT_TRUE(json.at("limit").at("time_left_s").is_null());
  EXPECT_TRUE(json.at("rss_slope").is_null());
  EXPECT_EQ(nlohmann::json::parse(ending_json(7, "x", "ended", 5, 0)).at("last_rss_bytes"), 5);
}

TEST(WatchJson, RowsOfATableHaveAsManyFieldsAsItsHead) {
  const auto fields = [](const std::string& row) { return std::count(row.begin(), row.end(), ','); };
  EXPECT_EQ(fields(csv_row(a_view())), fields(csv_head()));
  View view = a_view();
  view.limit.reset();
  view.look.composition.reset();
  EXPECT_EQ(fields(csv_row(view)), fields(csv_head()));
}

}  // namespace
}  // namespace fathom::watch
