// The page of `fathom view` in a real browser, from a file and from the server: no complaint on the console, what a brush
// selects is what the program's own report says of it, names that try to be tags or commands stay names.
#include "browser/page_of_a_server.h"

namespace fathom::browser {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST_F(PageInBrowser, OpensFromAFileOnTheAnswer) {
  show();
  EXPECT_THAT(text("h1"), HasSubstr("hand"));
  EXPECT_THAT(text(".story"), HasSubstr("CPU time"));
  EXPECT_EQ(ask("document.querySelector('#total').dataset.total"), "800");
  EXPECT_EQ(ask("document.querySelectorAll('.label b').length"), 4);  // memory, CPU, waiting, faults
  expect_as_reported();
}

TEST_F(PageInBrowser, ABrushChangesEveryView) {
  show("#m=cpu&v=top");
  EXPECT_THAT(text("#top tbody tr"), HasSubstr("Server::serve"));
  const auto [from_x, y] = lane_at(0.5);
  const auto [to_x, unused] = lane_at(0.75);
  ASSERT_TRUE(browser_->drag(from_x, y, to_x, y).has_value());
  wait_for("location.hash.includes('t=5000-75')");
  wait_for("document.querySelector('#top tbody').textContent.includes('ksys_read')");
  EXPECT_THAT(text("#top tbody tr"), HasSubstr("ksys_read"));
  EXPECT_THAT(text(".bar"), HasSubstr("5 – 7.5"));
  expect_as_reported();
  ask("history.back()");
  wait_for("!location.hash.includes('t=')");
  EXPECT_EQ(ask("document.querySelector('#total').dataset.total"), "800");
}

TEST_F(PageInBrowser, SumsOfAnySelectionAreTheReports) {
  show();
  std::mt19937 random(11);
  for (const char* metric : kMetrics)
    for (int i = 0; i < 5; ++i) {
      ask("window.fathom.change(" + some_selection(random, metric).dump() + ")");
      expect_as_reported();
    }
}

TEST_F(PageInBrowser, AShiftDragComparesWithAnotherTime) {
  show("#m=cpu&threads=0");
  const auto [slow_x, y] = lane_at(0.4);
  const auto [slow_end, unused] = lane_at(0.65);
  ASSERT_TRUE(browser_->drag(slow_x, y, slow_end, y).has_value());
  wait_for("location.hash.includes('t=40')");
  const auto [from_x, y_again] = lane_at(0.05);
  const auto [to_x, unused_too] = lane_at(0.35);
  ASSERT_TRUE(browser_->drag(from_x, y_again, to_x, y_again, true).has_value());
  wait_for("location.hash.includes('b=5')");
  wait_for("document.querySelector('#compared')");
  EXPECT_THAT(text("#compared"), HasSubstr("went from"));
  EXPECT_THAT(text(".bar"), HasSubstr("compared with 0.5"));
  expect_as_compared();
  press("2");
  wait_for("document.querySelector('#top')");
  EXPECT_THAT(text("#top"), HasSubstr("ksys_read"));
  EXPECT_THAT(text("#top"), HasSubstr("new"));
  press("1");
  ask("history.back()");
  ask("history.back()");
  wait_for("!location.hash.includes('v=top')");
}

TEST_F(PageInBrowser, ComparesWhatTheProgramCompares) {
  show();
  for (const char* metric : {"cpu", "off-cpu", "heap-allocated", "heap-live", "heap-growth"}) {
    ask(std::string("window.fathom.change({ metric: '") + metric +
        "', range: [800, 1300], base: [100, 700], thread: null, focus: [], ignore: [] })");
    expect_as_compared();
  }
  ask("window.fathom.change({ metric: 'cpu', range: [800, 1300], base: [100, 700], thread: 'server', focus: "
      "[], ignore: ['json'] })");
  expect_as_compared();
}

TEST_F(PageInBrowser, SeriesHaveTheirValuesAtBothEndsOfATime) {
  show("#m=cpu&v=series&t=0-5000");
  wait_for("document.querySelector('#series')");
  // 1 MB at the start, 20 kB more every tenth of a second.
  EXPECT_THAT(text("#series"), HasSubstr("memory.rss_anon977 KiB1.91 MiB+977 KiB1.91 MiB"));
  EXPECT_EQ(ask("document.querySelectorAll('.label b').length"), 4);
  ask("[...document.querySelectorAll('#series .name')].find((name) => name.textContent === "
      "'memory.rss_anon').click()");
  wait_for("document.querySelectorAll('.label b').length === 5");
  EXPECT_EQ(ask("location.hash.includes('s=memory.rss_anon')"), true);
}

// By parts of the width, an expression for the number of rows in which the heat map of a lane has colour. It reads a copy of the canvas,
// which Chromium does not complain about however often it is asked for.
std::string coloured_rows(const std::string& lane, const std::string& parts) {
  return "(() => { const canvas = document.querySelector('.chart canvas'), top = "
         "document.querySelector('.heat[data-lane=" +
         lane +
         "]').parentElement.getBoundingClientRect().top - canvas.getBoundingClientRect().top, copy = new "
         "OffscreenCanvas(canvas.width, canvas.height), pen = copy.getContext('2d', { willReadFrequently: true }); "
         "pen.drawImage(canvas, 0, 0); "
         "const { data, width, height } = pen.getImageData(0, Math.round(top) + 4, canvas.width, 110); "
         "return [" +
         parts +
         "].map((part) => { let n = 0; for (let y = 0; y < height; y++) { "
         "const at = 4 * (y * width + Math.round(width * part)); if (data[at] > data[at + 2] + 8) n++; } "
         "return n; }); })()";
}

TEST_F(PageInBrowser, ALaneIsAHeatMapOnRequest) {
  show("#m=cpu");
  ask("document.querySelector('.heat[data-lane=cpu]').click()");
  wait_for("location.hash.includes('heat=cpu')");
  EXPECT_THAT(text(".labels"), HasSubstr("a column is 1 s, from below up"));
  // Ten seconds in which the CPU is used up to 8.8 s: the second column has colour, and the last one has none. The page draws in a
  // frame of its own, after the address has changed.
  const std::string rows = coloured_rows("cpu", "0.15, 0.95");
  wait_for(rows + "[0] > 20");
  EXPECT_EQ(ask(rows)[1], 0);
  ask("document.querySelector('.heat[data-lane=cpu]').click()");
  wait_for("!location.hash.includes('heat=')");
}

TEST_F(PageInBrowser, FaultsAndSeriesAreHeatMapsThatSayHowFineTheyAre) {
  show("#m=cpu&s=memory.rss_anon");
  EXPECT_EQ(ask("[...document.querySelectorAll('.heat')].map((button) => button.dataset.lane)"),
            Json({"memory", "cpu", "wait", "faults", "series"}));
  // Until a quarter and three quarters of the lane are like this.
  const auto wait_for_colour = [&](const std::string& lane, const std::string& quarter,
                                   const std::string& rest) {
    ask("document.querySelector('.heat[data-lane=" + lane + "]').click()");
    wait_for("location.hash.includes('heat=" + lane + "')");
    wait_for("(([a, b]) => a " + quarter + " && b " + rest + ")(" + coloured_rows(lane, "0.25, 0.75") + ")");
  };
  // No fault in the first half; read once a second, which is no finer than a column.
  wait_for_colour("faults", "=== 0", "> 50");
  EXPECT_THAT(text(".labels"), HasSubstr("strong: much; read every 1.00 s: nothing finer is known"));
  // The memory grows evenly, and is read ten times in a column.
  wait_for_colour("series", "> 50", "> 50");
  EXPECT_THAT(text(".labels"), HasSubstr("far above its least"));
  EXPECT_THAT(text(".labels"), testing::Not(HasSubstr("nothing finer")));
}

TEST_F(PageInBrowser, LanesHaveFaultsTheLimitAndMarks) {
  show("#m=cpu");
  EXPECT_THAT(text(".labels"), testing::AllOf(HasSubstr("limit 7.63 MiB"), HasSubstr("Faults")));
  // No fault in the first half, 700 a second in the second one: twenty rows, of half a second each.
  const std::string rate =
      "((row) => { const table = document.querySelector('#lanes-table'); const column = "
      "[...table.querySelectorAll('th')].findIndex((one) => one.textContent === 'Faults: minor faults'); "
      "return "
      "table.querySelectorAll('tbody tr')[row].children[column].textContent; })";
  EXPECT_EQ(ask(rate + "(2)"), "0.00");
  EXPECT_EQ(ask(rate + "(15)"), "700.00");
  // A mark begins what goes on until the next one; its name is text.
  ask("[...document.querySelectorAll('.legend button')].find((one) => "
      "one.textContent.includes('warm')).click()");
  wait_for("location.hash.includes('t=2000-6000')");
  ask("[...document.querySelectorAll('.legend button')].find((one) => one.textContent.includes('load "
      "<b>')).click()");
  wait_for("location.hash.includes('t=6000-10000')");
}

TEST_F(PageInBrowser, TheTableOfAPictureFollowsWhenNothingChanges) {
  show("#m=cpu&threads=0");
  const std::string before = text("#flame-table");
  EXPECT_THAT(before, HasSubstr("ksys_read"));
  // Zoomed into what has no such call: the picture at once, the table when nothing has changed for a while.
  const std::string zoom =
      "new Promise((done) => { const { tree, zoom } = window.fathom; zoom.value = "
      "tree().labels.indexOf('Server::serve(int)'); "
      "setTimeout(() => done(document.querySelector('#flame-table').textContent), 50); })";
  EXPECT_EQ(ask(zoom), before);
  wait_for("!document.querySelector('#flame-table').textContent.includes('ksys_read')");
  // Who looks at the table sees it change with the picture.
  ask("[...document.querySelectorAll('.flame button')].find((one) => one.textContent === 'show as a "
      "table').click()");
  ask("window.fathom.zoom.value = 0");
  wait_for("document.querySelector('#flame-table').textContent.includes('ksys_read')");
}

TEST_F(PageInBrowser, ADoubleClickAsksWhoCalls) {
  show("#m=cpu&threads=0");
  ask("(() => { const at = document.querySelector('.flame canvas'), box = at.getBoundingClientRect(); "
      "at.dispatchEvent(new MouseEvent('dblclick', { clientX: box.x + 20, clientY: box.y + 30, bubbles: true "
      "})); })()");
  wait_for("document.querySelector('.callers h2')");
  EXPECT_EQ(text(".callers h2"), "main");
}

TEST_F(PageInBrowser, PointingAtACallShowsWhenItWasOnAStack) {
  show("#m=cpu&threads=0");
  EXPECT_THAT(text("#lanes-table th:last-child"), testing::Not(HasSubstr("on a stack")));
  ask("(() => { const at = document.querySelector('.flame canvas'), box = at.getBoundingClientRect(); "
      "at.dispatchEvent(new MouseEvent('mousemove', { clientX: box.x + 20, clientY: box.y + 30, bubbles: "
      "true "
      "})); })()");
  wait_for("document.querySelector('#lanes-table th:last-child').textContent === 'on a stack: main'");
  // From the first half second on, and no more in the last one.
  EXPECT_THAT(text("#lanes-table tbody tr:first-child td:last-child"),
              testing::Not(testing::StartsWith("0")));
  EXPECT_THAT(text("#lanes-table tbody tr:last-child td:last-child"), testing::StartsWith("0"));
  ask("document.querySelector('.flame canvas').dispatchEvent(new MouseEvent('mouseleave'))");
  wait_for("!document.querySelector('#lanes-table th:last-child').textContent.includes('on a stack')");
}

TEST_F(PageInBrowser, WaitsAreListedByCauseAndByTheCodeThatWaits) {
  show("#m=cpu");
  press("5");
  wait_for("document.querySelector('#waits')");
  EXPECT_EQ(ask("document.querySelectorAll('#waits tbody tr').length"), 2);
  EXPECT_THAT(text("#waits tbody tr"), HasSubstr("unknown"));
  EXPECT_THAT(text("#waits tbody tr"), HasSubstr("Server::serve"));
  const std::string first = text("#waits tbody td");
  ask("document.querySelector('#waits .name').click()");  // its flame graph
  wait_for("location.hash.includes('m=off-cpu')");
  EXPECT_EQ(text("#total"), first);
  expect_as_reported();
}

TEST_F(PageInBrowser, NamesStayNames) {
  show("#m=cpu&v=top");
  EXPECT_EQ(ask("document.querySelectorAll('#app img').length"), 0);
  EXPECT_EQ(ask("[...document.querySelectorAll('#top .name')].some((name) => "
                "name.title.includes('onerror=alert(1)'))"),
            true);
  EXPECT_THAT(text("#top"), testing::Not(HasSubstr("\xe2\x80\xae")));
}

TEST_F(PageInBrowser, NamesThatAreTooWideKeepWhatTheyDo) {
  show();
  const auto fitted = [&](const std::string& name, int room) {
    return ask("window.fathom.fitted(" + Json(name).dump() + ", " + std::to_string(room) +
               ", (text) => text.length)");
  };
  EXPECT_EQ(fitted("mix(std::vector<double> const&)", 31), "mix(std::vector<double> const&)");
  EXPECT_EQ(fitted("mix(std::vector<double> const&)", 20), "mix(…)");
  EXPECT_EQ(fitted("std::map<int, a::b>::find(int const&) const", 24), "std::map<…>::find(…)");
  EXPECT_EQ(fitted("std::map<int, a::b>::find(int const&) const", 12), "…::find(…)");
  EXPECT_EQ(fitted("std::map<int, a::b>::find(int const&) const", 5), "find");
  EXPECT_EQ(fitted("net/http.(*conn).serve", 12), "…conn).serve");
  EXPECT_EQ(fitted("A::operator()(int)", 14), "operator()");
  EXPECT_EQ(fitted("asm_sysvec_apic_timer", 12), "asm_sysv…mer");
}

TEST_F(PageInBrowser, ClickingABoxZoomsAndEscapeGoesBack) {
  show("#m=cpu&threads=0");
  wait_for("document.querySelector('.flame canvas').getBoundingClientRect().width > 300");
  const Json box =
      ask("(() => { const b = document.querySelector('.flame canvas').getBoundingClientRect(); return [b.x, "
          "b.y]; })()");
  // The third row is what main calls, the largest first: Server::serve.
  const double x = box[0].get<double>() + 30, y = box[1].get<double>() + 2.5 * 19;
  ASSERT_TRUE(browser_->point_at(x, y).has_value());
  wait_for("document.querySelector('.tip')");
  EXPECT_THAT(text(".tip"), StartsWith("Server::serve(int)68.8 % · 550 samples with what it calls"));
  ASSERT_TRUE(browser_->click(x, y).has_value());
  wait_for("document.querySelector('.crumbs')");
  EXPECT_THAT(text("aside"), HasSubstr("Server::serve"));
  press("Escape");
  press("Escape");
  wait_for("!document.querySelector('.crumbs')");
}

TEST_F(PageInBrowser, IsUsedByTheKeyboard) {
  show();
  press("/");
  wait_for("document.activeElement.id === 'search'");
  ASSERT_TRUE(browser_->type("parse").has_value());
  wait_for("document.querySelector('.found')?.textContent.includes('31.3 %')");
  press("Enter");
  wait_for("location.hash.includes('focus=parse')");
  EXPECT_EQ(ask("document.querySelector('#total').dataset.total"), "250");
  ask("document.activeElement.blur()");
  press("2");
  wait_for("document.querySelector('#top')");
  press("3");
  wait_for("location.hash.includes('v=callers')");
  ask("document.querySelector('.chart canvas').focus()");
  press("ArrowRight");
  wait_for("location.hash.includes('t=0-2000')");
  expect_as_reported();
}

TEST_F(PageInBrowser, IsServedOnLoopbackToWhoKnowsTheAddress) {
  const pid_t server = start_program({"view", recording(), "--no-open"}, folder_ + "/url");
  ASSERT_GT(server, 0);
  std::string url;
  for (int i = 0; i < 500 && !url.ends_with('\n'); ++i) {
    ::usleep(20'000);
    url = read_file(folder_ + "/url").value_or("");
  }
  if (url.ends_with('\n')) url.pop_back();
  EXPECT_THAT(url, testing::MatchesRegex("http://127.0.0.1:[0-9]+/[0-9a-f]+/"));
  served_ = url;
  const auto opened = browser_->open(url + "#m=cpu");
  EXPECT_TRUE(opened.has_value());
  wait_for("window.fathom");
  EXPECT_EQ(ask("document.querySelector('#total').dataset.total"), "800");
  std::mt19937 random(13);
  for (const char* metric : kMetrics) {
    ask("window.fathom.change(" + some_selection(random, metric).dump() + ")");
    expect_as_reported();
  }
  // The recording is read again for the first question about code, and kept for the next one.
  const auto code = [&] {
    return ask("fetch('code?fn=Server::serve&metric=cpu').then((answer) => answer.json())").dump();
  };
  std::filesystem::rename(recording(), recording() + ".away");
  EXPECT_THAT(code(), HasSubstr("No such file"));
  std::filesystem::rename(recording() + ".away", recording());
  const std::string known = code();
  EXPECT_THAT(known, testing::Not(HasSubstr("No such file")));
  EXPECT_THAT(known, HasSubstr("Server::serve(int)"));
  std::filesystem::rename(recording(), recording() + ".away");
  EXPECT_EQ(code(), known);
  std::filesystem::rename(recording() + ".away", recording());
  ::kill(server, SIGINT);
  EXPECT_EQ(ended(server), 0);
}

TEST_F(PageInBrowser, FitsNarrowWindowsAndDarkOnes) {
  for (const bool dark : {false, true}) {
    for (const int width : {1400, 700}) {
      ASSERT_TRUE(browser_->prefer_dark(dark).has_value());
      ASSERT_TRUE(browser_->resize(width, 900).has_value());
      show();
      EXPECT_EQ(ask("document.documentElement.scrollWidth <= innerWidth"), true) << width;
      ask("window.fathom.change({ metric: 'cpu', range: [800, 1300], base: [100, 700] })");
      wait_for("document.querySelector('#compared')");
      EXPECT_EQ(ask("document.documentElement.scrollWidth <= innerWidth"), true) << width;
      if (const char* folder = std::getenv("FATHOM_SCREENSHOTS")) {
        const std::string name = std::string(dark ? "dark" : "light") + std::to_string(width);
        EXPECT_TRUE(browser_->screenshot(std::string(folder) + "/page_" + name + ".png").has_value());
      }
    }
  }
}

}  // namespace
}  // namespace fathom::browser
