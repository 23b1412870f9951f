// The timeline of a heap in a real browser, from a file. FATHOM_SCREENSHOTS=FOLDER keeps pictures to look at.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "analysis/heap/hand_made_heap.h"
#include "base/files.h"
#include "browser/chromium.h"
#include "present/svg/heap_timeline_svg.h"

namespace fathom::browser {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

// Three seconds of a server whose peak of 6.7 MiB is at 1.5 s, with resident memory.
std::string picture(double width, bool of_bytes) {
  analysis::HandMadeHeap hand = analysis::small_heap();
  model::Series row;
  row.name = hand.builder.string("memory.rss_anon");
  row.unit = hand.builder.string("bytes");
  row.pid = 10;
  for (int i = 0; i < 12; ++i)
    row.points.push_back({hand.profile.meta.start_ns + static_cast<std::uint64_t>(i) * 250'000'000,
                          8e6 * (i < 6 ? 0.3 + 0.1 * i : 1)});
  hand.profile.series.push_back(std::move(row));
  present::HeapTimelineOptions options;
  options.width = width;
  return present::heap_timeline_svg(analysis::make_heap_timeline(hand.profile, {.moved = of_bytes}).value(),
                                    options);
}

class HeapTimelineInBrowser : public testing::Test {
 protected:
  void SetUp() override {
    if (find_chromium().empty()) GTEST_SKIP() << "no Chromium on this machine (apt-get install chromium)";
    auto started = Chromium::start(1000, 900);
    ASSERT_TRUE(started.has_value()) << started.error().message;
    browser_ = std::move(*started);
    std::string pattern = (std::filesystem::temp_directory_path() / "fathom-timeline-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override {
    if (!browser_) return;
    EXPECT_THAT(browser_->take_complaints(), IsEmpty());
    if (const char* folder = std::getenv("FATHOM_SCREENSHOTS")) {
      const std::string name = testing::UnitTest::GetInstance()->current_test_info()->name();
      EXPECT_TRUE(browser_->screenshot(std::string(folder) + "/" + name + ".png").has_value());
    }
    std::filesystem::remove_all(folder_);
  }
  // A picture as wide as the window has the same coordinates as it.
  void show(double width = 1000, bool of_bytes = false) {
    const std::string path = folder_ + "/timeline.svg";
    ASSERT_TRUE(write_file(path, picture(width, of_bytes)).has_value());
    const auto opened = browser_->open("file://" + path);
    ASSERT_TRUE(opened.has_value()) << opened.error().message;
  }
  Json ask(const std::string& expression) {
    auto value = browser_->evaluate(expression);
    if (!value) {
      ADD_FAILURE() << expression << ": " << value.error().message;
      return {};
    }
    return *value;
  }
  std::string panel() {
    return ask("(() => { const panel = document.querySelector('.panel'); return panel.style.display === "
               "'none' ? "
               "'hidden' : [...panel.querySelectorAll('text')].map((text) => text.textContent).join('|'); "
               "})()")
        .get<std::string>();
  }

  std::unique_ptr<Chromium> browser_;
  std::string folder_;
};

TEST_F(HeapTimelineInBrowser, IsAsWideAsTheWindow) {
  for (const double width : {700, 1000, 1600}) {
    show(width);
    EXPECT_EQ(ask("document.documentElement.getBoundingClientRect().width === window.innerWidth"), true)
        << width;
    EXPECT_EQ(ask("document.documentElement.scrollWidth <= window.innerWidth"), true) << width;
  }
}

// It was 640 pixels wide at least, of which a phone shows the left half.
TEST_F(HeapTimelineInBrowser, FitsAPhone) {
  ASSERT_TRUE(browser_->resize(390, 800).has_value());
  show(1200);
  EXPECT_EQ(ask("document.documentElement.scrollWidth <= 390"), true);
  const char* const kOutside =
      "[...document.querySelectorAll('svg text, .band, .flag')].filter((part) => { const at = "
      "part.getBoundingClientRect(); return at.width && (at.right > 390.5 || at.left < 0); }).map((part) => "
      "part.textContent).join('|')";
  EXPECT_EQ(ask(kOutside), "");
  EXPECT_EQ(ask("getComputedStyle(document.querySelector('.foot text')).fontSize"), "12px");
  EXPECT_EQ(ask("(() => { const y = [...document.querySelectorAll('.foot text:not(.end)')].map((text) => "
                "text.getBoundingClientRect().top); return new Set(y).size === y.length; })()"),
            true)
      << "lines lie upon each other";
  ASSERT_TRUE(browser_->click(66 + 312 * 0.51, 200).has_value());
  EXPECT_THAT(panel(), HasSubstr("1.500 s|6.7 MiB"));
  EXPECT_EQ(ask(kOutside), "");
}

TEST_F(HeapTimelineInBrowser, PanelShowsTheMomentUnderThePointer) {
  show();
  EXPECT_EQ(panel(), "hidden");
  // The chart starts at 66 and is 918 pixels wide, for three seconds.
  ASSERT_TRUE(browser_->point_at(66 + 918 * 0.51, 200).has_value());
  EXPECT_THAT(panel(), AllOf(HasSubstr("1.500 s|6.7 MiB"),
                             HasSubstr("server::load(std::string const&)|5.7 MiB  85.7 %"),
                             HasSubstr("resident, anonymous|7.6 MiB")));
  ASSERT_TRUE(browser_->point_at(66 + 918 * 0.97, 200).has_value());
  EXPECT_THAT(panel(), HasSubstr("3.000 s|979.1 KiB"));
  // It stays inside of the picture.
  EXPECT_EQ(ask("(() => { const box = document.querySelector('.panel .box').getBoundingClientRect(); return "
                "box.left "
                ">= 0 && box.right <= 1000; })()"),
            true);
  ASSERT_TRUE(browser_->point_at(500, 640).has_value());
  EXPECT_EQ(panel(), "hidden");
}

// Of 29.2 MB in all, 19.0 MB were allocated and freed until the peak.
TEST_F(HeapTimelineInBrowser, PanelShowsTheMomentOnAnAxisOfBytes) {
  show(1000, true);
  ASSERT_TRUE(browser_->point_at(66 + 918 * 0.65, 200).has_value());
  EXPECT_THAT(panel(), HasSubstr("1.500 s|6.7 MiB"));
  ASSERT_TRUE(browser_->point_at(66 + 918 * 0.38, 200).has_value());
  EXPECT_THAT(panel(), HasSubstr("1.000 s|"));
}

TEST_F(HeapTimelineInBrowser, ArrowsWalkFromMomentToMomentAndEscapeHides) {
  show();
  ASSERT_TRUE(browser_->press({"ArrowRight"}).has_value());
  EXPECT_THAT(panel(), HasSubstr("1.500 s|6.7 MiB"));  // the peak first
  ASSERT_TRUE(browser_->press({"ArrowRight"}).has_value());
  EXPECT_THAT(panel(), HasSubstr("2.000 s|"));
  ASSERT_TRUE(browser_->press({"Home"}).has_value());
  EXPECT_THAT(panel(), HasSubstr("|0 bytes"));
  ASSERT_TRUE(browser_->press({"Escape"}).has_value());
  EXPECT_EQ(panel(), "hidden");
}

TEST_F(HeapTimelineInBrowser, PointingAtTheLegendBringsItsBandOut) {
  show();
  const Json place = ask(
      "(() => { const box = document.querySelector('.item[data-of=g1] text').getBoundingClientRect(); return "
      "[box.left + 5, box.top + 5]; })()");
  ASSERT_TRUE(browser_->point_at(place[0].get<double>(), place[1].get<double>()).has_value());
  EXPECT_EQ(ask("getComputedStyle(document.querySelector('.chart .g1')).opacity"), "1");
  EXPECT_EQ(ask("getComputedStyle(document.querySelector('.chart .g0')).opacity"), "0.18");
}

TEST_F(HeapTimelineInBrowser, InTheDarkTheTextIsLight) {
  ASSERT_TRUE(browser_->prefer_dark(true).has_value());
  show();
  EXPECT_EQ(ask("getComputedStyle(document.querySelector('.title')).fill"), "rgb(230, 233, 237)");
  EXPECT_EQ(ask("getComputedStyle(document.querySelector('.bg')).fill"), "rgb(21, 24, 28)");
  EXPECT_EQ(ask("getComputedStyle(document.documentElement).backgroundColor"), "rgb(21, 24, 28)")
      << "a window that is wider than the picture had white sides";
}

}  // namespace
}  // namespace fathom::browser
