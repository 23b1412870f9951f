// The page can be read: every text stands out from its ground in both themes, none lies on another, and a recording without CPU
// time opens on what it has.
#include "browser/page_of_a_server.h"

namespace fathom::browser {
namespace {

constexpr std::array kViews = {"flame", "top",  "callers", "threads", "waits",
                               "heap",  "tree", "modules", "series",  "quality"};

// The texts in sight, with where they are: of a text that is cut by its box only the part that is seen.
const std::string kTexts =
    R"js(const texts = [], walker = document.createTreeWalker(document.getElementById("app"), 4);
  for (let at; (at = walker.nextNode());) {
    const holder = at.parentElement, style = getComputedStyle(holder);
    if (!at.nodeValue.trim() || style.visibility === "hidden" || holder.closest(".visually-hidden, .when-focused, .canvas-table, select")) continue;
    const range = document.createRange();
    range.selectNodeContents(at);
    let block = holder;
    while (getComputedStyle(block).display.startsWith("inline") && block.parentElement) block = block.parentElement;
    for (const line of range.getClientRects()) {
      let [left, top, right, bottom] = [line.left, line.top, line.right, line.bottom];
      for (let up = holder; up && up.id !== "app"; up = up.parentElement) {
        if (getComputedStyle(up).overflow === "visible") continue;
        const edge = up.getBoundingClientRect();
        [left, top, right, bottom] = [Math.max(left, edge.left), Math.max(top, edge.top), Math.min(right, edge.right), Math.min(bottom, edge.bottom)];
      }
      if (right - left > 2 && bottom - top > 2) texts.push({ text: at.nodeValue.trim(), holder, block, style, left, top, right, bottom });
    }
  })js";

// As WCAG 2.1 defines it, with the grounds behind each other; 4.5 is what it asks for.
const std::string kFaintTexts = "(() => { " + kTexts + R"js(
  const parts = (color) => { const of = /^rgba?\(([^)]*)\)/.exec(color)?.[1].split(",").map(Number); return of && [...of.slice(0, 3), of[3] ?? 1]; };
  const over = (front, back) => [0, 1, 2].map((i) => front[i] * front[3] + back[i] * (1 - front[3]));
  const light = (color) => { const [red, green, blue] = color.map((part) => part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4); return 0.2126 * red + 0.7152 * green + 0.0722 * blue; };
  const out = new Set();
  for (const { text, holder, style } of texts) {
    const grounds = [];
    for (let up = holder; up; up = up.parentElement) { const color = parts(getComputedStyle(up).backgroundColor); if (color && color[3] > 0) grounds.unshift(color); }
    const ground = grounds.reduce((back, front) => over(front, back), [255, 255, 255]), ink = parts(style.color);
    if (!ink || holder.closest(":disabled")) continue;
    const [low, high] = [light(over(ink, ground)), light(ground)].sort((a, b) => a - b), contrast = (high + 0.05) / (low + 0.05);
    if (contrast < 4.5) out.add(`${contrast.toFixed(2)}: ${text}`);
  }
  return [...out]; })())js";

// Heads of tables stay in sight while their rows move below them.
const std::string kTextsOnTexts = "(() => { " + kTexts + R"js(
  const seen = texts.filter(({ holder }) => !holder.closest("th")), out = new Set();
  seen.forEach((a, i) => { for (const b of seen.slice(i + 1)) {
    if (a.block.contains(b.block) || b.block.contains(a.block)) continue;
    if (Math.min(a.right, b.right) - Math.max(a.left, b.left) > 2 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 5) out.add(`${a.text} | ${b.text}`);
  } });
  return [...out]; })())js";

TEST_F(PageInBrowser, TextStandsOutFromItsGroundInBothThemes) {
  for (const bool dark : {false, true}) {
    ASSERT_TRUE(browser_->prefer_dark(dark).has_value());
    for (const char* view : kViews) {
      SCOPED_TRACE(std::string(view) + (dark ? ", dark" : ", light"));
      show(std::string("#m=cpu&t=4000-6000&x=kernel&v=") + view);
      EXPECT_EQ(ask(kFaintTexts), Json::array());
    }
  }
}

TEST_F(PageInBrowser, NoTextLiesOnAnother) {
  for (const int width : {1400, 900, 420}) {
    ASSERT_TRUE(browser_->resize(width, 800).has_value());
    for (const char* view : kViews) {
      SCOPED_TRACE(std::to_string(width) + view);
      show(std::string("#m=off-cpu&v=") + view);
      wait_for(kTextsOnTexts + ".length === 0");
      EXPECT_EQ(ask(kTextsOnTexts), Json::array());
    }
  }
}

// A lane as a heat map is a picture of its own: there is room for it, also where there was none for all lanes.
TEST_F(PageInBrowser, AHeatMapIsInSight) {
  for (const int height : {1000, 700}) {
    ASSERT_TRUE(browser_->resize(1200, height).has_value());
    show("#m=cpu&heat=cpu&v=top");
    wait_for(
        "(() => { const label = document.querySelector('.heat[aria-pressed=true]').parentElement.getBoundingClientRect(), "
        "seen = document.querySelector('.over').getBoundingClientRect(); return label.height > 100 && label.bottom <= "
        "seen.bottom + 4; })()");
  }
}

class PageOfMemoryAlone : public PageTest {
 protected:
  static void SetUpTestSuite() {
    analysis::HandMade hand;
    (void)hand.process(10, "server");
    model::Series series;
    series.name = hand.builder.string("memory.rss_anon");
    series.unit = hand.builder.string("bytes");
    series.pid = 10;
    for (std::uint64_t s = 0; s <= 4; ++s)
      series.points.push_back({hand.profile.meta.start_ns + s * 1'000'000'000, static_cast<double>(s << 20)});
    hand.profile.series.push_back(series);
    set_up(hand.profile);
  }
};

TEST_F(PageOfMemoryAlone, OpensOnItsSeries) {
  show();
  wait_for("document.querySelector('#series tbody tr')");
  EXPECT_EQ(ask("[...document.querySelectorAll('nav [role=tab]')].map((one) => one.textContent)"),
            Json::array({"Series", "Quality"}));
  EXPECT_EQ(ask("document.querySelector('#metric')"), nullptr) << "there is none to choose";
  EXPECT_THAT(text(".label.memory"), testing::HasSubstr("Memory"));
}

}  // namespace
}  // namespace fathom::browser
