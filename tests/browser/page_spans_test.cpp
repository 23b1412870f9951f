// Spans on the page: a lane in which a click or a box selects, a view for the keyboard, and the numbers that `--span` prints.
#include "analysis/core/hand_made_profile.h"
#include "browser/page_testing.h"

namespace fathom::browser {
namespace {

using testing::HasSubstr;

// Ten seconds of an engine with a payload every 100 ms: each computes for 20 ms, and every 20th parses for 80 ms in addition.
model::Profile engine_profile() {
  analysis::HandMade hand;
  const auto process = hand.process(10, "node");
  const auto engine = hand.thread(process, 10, "engine"), other = hand.thread(process, 11, "other");
  const auto app = hand.module("node", model::ModuleKind::kFile, model::SymbolSource::kDwarf);
  const auto main = hand.frame(app, {"main"}), execute = hand.frame(app, {"node::execute"}),
             parse = hand.frame(app, {"node::parse_slowly"});
  for (int i = 0; i < 100; ++i) {
    const double at = i * 0.1;
    const bool slow = i % 20 == 7;
    hand.sample(engine, hand.stack({main, execute}), 2, at + 0.005);
    if (slow) hand.sample(engine, hand.stack({main, execute, parse}), 8, at + 0.05);
    hand.sample(other, hand.stack({main}), 3, at + 0.06);
    const auto start = hand.profile.meta.start_ns + static_cast<std::uint64_t>(i) * 100'000'000;
    hand.profile.spans.push_back({start, start + (slow ? 95'000'000u : 20'000'000u),
                                  hand.builder.string("new payload"), engine, model::SpanSource::kMarkerFile,
                                  0, 0});
  }
  return std::move(hand.profile);
}

class PageSpans : public PageTest {
 protected:
  static void SetUpTestSuite() { set_up(engine_profile()); }
  // Points in the lane of spans: by parts of its width and of its height, from the top.
  std::pair<double, double> span_at(double part, double down) {
    const Json box = ask(
        "(() => { const c = document.querySelector('.chart canvas').getBoundingClientRect(), l = "
        "document.querySelector('.label.span').getBoundingClientRect(); return [c.x, c.width, l.y, l.height]; "
        "})()");
    if (!box.is_array()) return {0, 0};
    return {box[0].get<double>() + part * box[1].get<double>(),
            box[2].get<double>() + down * box[3].get<double>()};
  }
  // Also while another page is being loaded.
  bool becomes(const std::string& expression) {
    for (int i = 0; i < 500; ++i) {
      if (const auto value = browser_->evaluate(expression); value && *value == true) return true;
      ::usleep(20'000);
    }
    return false;
  }
};

TEST_F(PageSpans, AClickInTheLaneSelectsTheTimeAndTheThreadOfASpan) {
  show("#m=cpu&threads=0");
  EXPECT_THAT(text(".label.span"), HasSubstr("new payload"));
  // The longest ones are at the top; the one from 2.7 s ends at 2.795 s.
  const auto [x, y] = span_at(0.2745, 0.06);
  ASSERT_TRUE(browser_->click(x, y).has_value());
  wait_for("location.hash.includes('t=2700-2795')");
  EXPECT_EQ(ask("window.fathom.view.value.thread"), "engine");
  EXPECT_THAT(text(".notice"), HasSubstr("new payload: 95.0 ms on engine"));
  expect_as_reported();
}

TEST_F(PageSpans, ABoxInAFileCopiesTheCommandThatChoosesTheSame) {
  show("#m=cpu&threads=0");
  const auto [x0, y0] = span_at(0.05, 0.02);
  const auto [x1, y1] = span_at(0.5, 0.3);
  ASSERT_TRUE(browser_->drag(x0, y0, x1, y1).has_value());
  wait_for(
      "document.querySelector('.notice').textContent.includes(\"--span 'new payload' --slower-than 0.095\")");
  expect_as_reported();  // the time is selected here, too
}

TEST_F(PageSpans, AreAViewForTheKeyboard) {
  show("#m=cpu&threads=0");
  press("S");
  wait_for("document.querySelector('#longest-spans')");
  EXPECT_THAT(text("#spans tbody tr"), HasSubstr("100"));
  EXPECT_THAT(text("#longest-spans tbody tr"), HasSubstr("95.0 ms"));
  ask("document.querySelector('#longest-spans tbody button').click()");
  wait_for("window.fathom.view.value.thread === 'engine' && window.fathom.view.value.range !== null");
}

TEST_F(PageSpans, TheSlowestFiveInAHundredAreWhatTheReportOfTheCommandHas) {
  const pid_t server = start_program({"view", recording(), "--no-open"}, folder_ + "/url");
  ASSERT_GT(server, 0);
  std::string url;
  for (int i = 0; i < 500 && !url.ends_with('\n'); ++i) {
    ::usleep(20'000);
    url = read_file(folder_ + "/url").value_or("");
  }
  if (url.ends_with('\n')) url.pop_back();
  served_ = url;
  ASSERT_TRUE(browser_->open(url + "#m=cpu&threads=0").has_value());
  wait_for("window.fathom");
  ask("setTimeout(() => [...document.querySelectorAll('.label.span .heat')].find((one) => "
      "one.textContent.includes('slowest')).click(), 0), true");
  EXPECT_TRUE(
      becomes("location.search.includes('slower-than') && !!window.fathom && "
              "!!document.querySelector('.chip.span')"));
  EXPECT_THAT(text(".chip.span"), HasSubstr("span new payload, at least 95.0 ms: 5 of 100"));
  EXPECT_EQ(ask("window.fathom.report().total"), 35)
      << "five spans, of which each has seven samples of its thread";
  expect_as_reported();
  EXPECT_THAT(text(".label.span"), HasSubstr("new payload")) << "all spans are still in the lane";
  ask("setTimeout(() => document.querySelector('.chip.span').click(), 0), true");
  EXPECT_TRUE(becomes("!location.search && !!window.fathom && !document.querySelector('.chip.span')"));
  EXPECT_EQ(ask("window.fathom.report().total"), 540);
  // What no span is, is a sentence and no page that hangs.
  ASSERT_TRUE(browser_->open(url + "?span=%3Cb%3Enothing").has_value());
  EXPECT_TRUE(
      becomes("document.body.textContent.includes('<b>nothing') || "
              "document.body.textContent.includes('--span')"));
  ::kill(server, SIGINT);
  EXPECT_EQ(ended(server), 0);
}

}  // namespace
}  // namespace fathom::browser
