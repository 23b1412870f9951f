// The page of `fathom view` in a real browser, from a file and from the server: no complaint on the console, what a brush
// selects is what the program's own report says of it, names that try to be tags or commands stay names.
#include <array>
#include <random>

#include "analysis/core/hand_made_profile.h"
#include "browser/page_testing.h"
#include "model/marks.h"

namespace fathom::browser {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

const std::string kHostile =
    "</script><img src=x onerror=alert(1)>::\xe2\x80\xae"
    "evil";

// Ten seconds of a server: a slow time from 4 to 6 s in which it parses and waits, and a heap that grows.
model::Profile server_profile() {
  analysis::HandMade hand;
  const auto process = hand.process(10, "server");
  const auto main = hand.thread(process, 10, "server"), worker = hand.thread(process, 11, "it's a worker");
  const auto module = hand.module("server"), kernel = hand.module("[kernel]", model::ModuleKind::kKernel);
  const auto libc = hand.module("libc.so.6");
  const auto start = hand.frame(module, {"main"}), serve = hand.frame(module, {"Server::serve(int)"});
  const auto parse = hand.frame(module, {"json::parse<std::string, 12>"}),
             hostile = hand.frame(module, {kHostile});
  const auto read = hand.frame(kernel, {"ksys_read"});
  hand.sample(main, hand.stack({start, serve}), 300, 0.003);
  hand.sample(main, hand.stack({start, serve, parse}), 190, 4.001);
  hand.sample(worker, hand.stack({start, hostile, read}), 250, 5);
  hand.sample(worker, hand.stack({start, serve, serve, parse}), 60, 8.2);
  std::mt19937 random(5);
  for (int i = 0; i < 120; ++i) {
    model::Wait wait;
    wait.start_ns = hand.profile.meta.start_ns + static_cast<std::uint64_t>(i) * 70'000'000;
    wait.waited_ns = random() % 60'000'000;
    wait.queued_ns = random() % 5'000'000;
    wait.thread = i % 3 == 0 ? worker : main;
    wait.stack = hand.stack({start, i % 2 == 0 ? serve : hostile});
    hand.profile.waits.push_back(wait);
  }
  model::Heap heap;
  heap.process = process;
  heap.start_ns = hand.profile.meta.start_ns;
  heap.end_ns = hand.profile.meta.end_ns;
  const auto malloc = hand.frame(libc, {"malloc"});
  for (const auto where : {serve, parse})
    hand.profile.heap.sites.push_back({{0}, hand.stack({start, where, malloc}), {0}, main, 0});
  add_heap_course(hand.profile, heap, 10, [](std::uint32_t second, std::uint32_t site) {
    model::HeapRow row;
    row.allocated = {10.0 + site, 100'000.0 * (site + 1) + second};
    row.freed = {4, second == 0 ? 0 : 20'000.0 * (site + 1)};
    return row;
  });
  // serve asks for blocks below 128 bytes and below 8 KiB, parse for small ones alone.
  for (const auto& [site, bucket] : {std::pair{0u, 7}, std::pair{0u, 13}, std::pair{1u, 7}})
    hand.profile.heap.histograms.push_back(
        {{site}, model::HeapHistogramKind::kSize, static_cast<std::uint8_t>(bucket), {50, 0}});
  model::Series rss;
  rss.name = hand.builder.string("memory.rss_anon");
  rss.unit = hand.builder.string("bytes");
  rss.pid = 10;
  for (int i = 0; i <= 100; ++i)
    rss.points.push_back(
        {hand.profile.meta.start_ns + static_cast<std::uint64_t>(i) * 100'000'000, 1e6 + i * 2e4});
  hand.profile.series.push_back(rss);
  model::Series faults;
  faults.name = hand.builder.string("memory.minor_faults");
  faults.unit = hand.builder.string("count");
  faults.pid = 10;
  for (int i = 0; i <= 10; ++i)
    faults.points.push_back({hand.profile.meta.start_ns + static_cast<std::uint64_t>(i) * 1'000'000'000,
                             i < 5 ? 0 : (i - 5) * 700.0});
  hand.profile.series.push_back(faults);
  hand.profile.meta.facts[model::kMarksFact] =
      model::mark_line(2, "warm") + "\n" + model::mark_line(6, "load <b>");
  hand.profile.meta.facts["oom_limit_bytes"] = "8000000";
  return hand.profile;
}

class PageInBrowser : public PageTest {
 protected:
  static void SetUpTestSuite() { set_up(server_profile()); }

  static constexpr std::array kMetrics = {
      "cpu", "off-cpu", "heap-live", "heap-allocated", "heap-allocations", "heap-growth"};

  // A time, a thread and patterns by chance, also all of them together.
  static Json some_selection(std::mt19937& random, const char* metric) {
    const auto chance = [&] { return random() % 2 == 0; };
    Json out = {{"metric", metric},       {"range", nullptr},        {"thread", nullptr},
                {"focus", Json::array()}, {"ignore", Json::array()}, {"sizes", nullptr}};
    if (chance()) {
      const auto from = random() % 1900;
      out["range"] = {from, from + 1 + random() % (2000 - from)};
    }
    if (chance()) out["thread"] = chance() ? "server" : "it's a worker";
    if (chance()) out["focus"].push_back(chance() ? "serve" : "/^json::/");
    if (chance()) out["ignore"].push_back(chance() ? "parse" : "onerror");
    if (chance()) out["sizes"] = chance() ? Json{7, 8} : Json{10, 20};  // taken of the heap alone
    return out;
  }

  // Two times on the page are what `fathom diff` of them is: figures to the last digit that matters, the same changes
  // beyond noise, and errors that lie near one another (the page's pieces of a time end at its slices).
  void expect_as_compared() {
    const Json page = ask("window.fathom.compared()");
    ASSERT_TRUE(page.is_object());
    std::vector<std::string> words = words_of(page["command"]);
    SCOPED_TRACE(page["command"].get<std::string>());
    ASSERT_GE(words.size(), 3u);
    words.erase(words.begin());
    words[1] = recording();
    words.push_back("--json");
    ASSERT_EQ(ended(start_program(words, folder_ + "/diff.json")), 0);
    const Json written = Json::parse(read_file(folder_ + "/diff.json").value_or(""), nullptr, false);
    ASSERT_FALSE(written.is_discarded());
    const Json& diff = written["metrics"][0];
    const auto expect_near = [](const Json& shown, const Json& expected) {
      for (const char* key : {"base", "fresh"}) {
        const double value = expected[std::string(key) == "base" ? "base" : "new"];
        EXPECT_NEAR(shown[key].get<double>(), value, 1e-9 * std::abs(value) + 1e-12) << key;
      }
      const double error = expected["error"];
      EXPECT_NEAR(shown["error"].get<double>(), error, 0.15 * error + 1e-12);
      EXPECT_EQ(shown["beyondNoise"], expected["beyond_noise"]);
    };
    expect_near(page["whole"], diff["whole"]);
    std::map<std::string, const Json*> shown;
    for (const Json& row : page["functions"]) shown[row["name"].get<std::string>()] = &row;
    std::size_t met = 0;
    for (const Json& row : diff["functions"]) {
      const std::string name = analysis::printable(row["name"].get<std::string>());
      SCOPED_TRACE(name);
      if (row["total"]["base"] == 0 && row["total"]["new"] == 0) continue;
      ASSERT_TRUE(shown.contains(name));
      expect_near((*shown[name])["self"], row["self"]);
      expect_near((*shown[name])["total"], row["total"]);
      ++met;
    }
    EXPECT_GT(met, 1u);
  }
};

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

TEST_F(PageInBrowser, ALaneIsAHeatMapOnRequest) {
  show("#m=cpu");
  const Json before = ask("document.querySelector('.chart canvas').getBoundingClientRect().height");
  ask("document.querySelector('.heat[data-lane=cpu]').click()");
  wait_for("location.hash.includes('heat=cpu')");
  EXPECT_THAT(text(".labels"), HasSubstr("a column is 1 s, from below up"));
  // Ten seconds in which the CPU is used up to 8.8 s: the second column has colour, and the last one has none.
  wait_for("document.querySelector('.chart canvas').getBoundingClientRect().height > " + before.dump());
  const Json coloured =
      ask("(() => { const canvas = document.querySelector('.chart canvas'); "
          "const { data, width, height } = canvas.getContext('2d').getImageData(0, 76, canvas.width, 110); "
          "return [0.15, 0.95].map((part) => { let n = 0; for (let y = 0; y < height; y++) { "
          "const at = 4 * (y * width + Math.round(width * part)); if (data[at] > data[at + 2] + 8) n++; } "
          "return n; }); })()");
  ASSERT_TRUE(coloured.is_array());
  EXPECT_GT(coloured[0].get<int>(), 20);
  EXPECT_EQ(coloured[1], 0);
  ask("document.querySelector('.heat[data-lane=cpu]').click()");
  wait_for("!location.hash.includes('heat=')");
}

TEST_F(PageInBrowser, FaultsAndSeriesAreHeatMapsThatSayHowFineTheyAre) {
  show("#m=cpu&s=memory.rss_anon");
  EXPECT_EQ(ask("[...document.querySelectorAll('.heat')].map((button) => button.dataset.lane)"),
            Json({"memory", "cpu", "wait", "faults", "series"}));
  // By parts of the width whether the heat map of a lane has colour there; the lane stands `top` pixels below the first one.
  const auto coloured = [&](const std::string& lane) {
    ask("document.querySelector('.heat[data-lane=" + lane + "]').click()");
    wait_for("location.hash.includes('heat=" + lane + "')");
    return ask(
        "new Promise((done) => requestAnimationFrame(() => { const label = "
        "document.querySelector('.heat[data-lane=" +
        lane +
        "]').parentElement, canvas = document.querySelector('.chart canvas'), copy = new "
        "OffscreenCanvas(canvas.width, canvas.height), pen = copy.getContext('2d', { willReadFrequently: "
        "true "
        "}); pen.drawImage(canvas, 0, 0); "
        "const top = label.getBoundingClientRect().top - canvas.getBoundingClientRect().top; "
        "const { data, width, height } = pen.getImageData(0, Math.round(top) + 4, "
        "canvas.width, 110); done([0.25, 0.75].map((part) => { let n = 0; for (let y = 0; y < height; y++) { "
        "const at = 4 * (y * width + Math.round(width * part)); if (data[at] > data[at + 2] + 8) n++; } "
        "return n > 50; })); }))");
  };
  // No fault in the first half; read once a second, which is no finer than a column.
  EXPECT_EQ(coloured("faults"), Json({false, true}));
  EXPECT_THAT(text(".labels"), HasSubstr("strong: much; read every 1.00 s: nothing finer is known"));
  // The memory grows evenly, and is read ten times in a column.
  EXPECT_EQ(coloured("series"), Json({true, true}));
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

TEST_F(PageInBrowser, ModulesCratesAndCausesAreChips) {
  show("#m=cpu&v=modules");
  wait_for("document.querySelector('#modules .only')");
  ask("[...document.querySelectorAll('#modules tbody tr')].find((row) => row.textContent.includes("
      "'[kernel]')).querySelector('.only').click()");
  wait_for("document.querySelector('.chip')?.textContent.startsWith('module [kernel]')");
  EXPECT_EQ(ask("window.fathom.report().total"), 250);
  expect_as_reported();
  ask("history.back()");
  wait_for("!document.querySelector('.chip')");
  EXPECT_EQ(ask("window.fathom.report().total"), 800);
  const auto type = [&](const std::string& words) {
    press("/");
    wait_for("document.activeElement.id === 'search'");
    ASSERT_TRUE(browser_->type(words).has_value());
    press("Enter");
    ask("document.activeElement.blur()");
  };
  show("#m=cpu");
  type("crate json");
  wait_for("document.querySelector('.chip')?.textContent.startsWith('crate json')");
  EXPECT_EQ(ask("window.fathom.report().total"), 250);
  expect_as_reported();
  type("ignore module:libc");
  wait_for("location.hash.includes('ignore=module%3Alibc')");
  ask("history.back()");
  ask("history.back()");
  wait_for("!document.querySelector('.chip')");
  type("cause unknown");
  wait_for("location.hash.includes('m=off-cpu') && location.hash.includes('focus=%5Bwait%3A+unknown%5D')");
  EXPECT_THAT(text(".bar"), HasSubstr("waits for unknown"));
  expect_as_reported();
  show("#m=cpu&v=callers&fn=json::parse%3Cstd::string,%2012%3E");
  wait_for("document.querySelector('.callers')");
  ask("[...document.querySelectorAll('.callers button')].find((b) => b.textContent === 'only crate "
      "json').click()");
  wait_for("location.hash.includes('focus=crate%3Ajson')");
  expect_as_reported();
}

TEST_F(PageInBrowser, SizesAreAChip) {
  show("#m=cpu&v=heap&heap=sizes");
  wait_for("document.querySelector('#histogram-0 button')");
  EXPECT_THAT(text("#histogram-0"), HasSubstr("128 B100"));
  ask("[...document.querySelectorAll('#histogram-0 button')].find((one) => one.textContent === '8.00 "
      "KiB').click()");
  wait_for("location.hash.includes('sizes=4096%3A8191')");
  EXPECT_THAT(text(".chip"), StartsWith("sizes 4.00 KiB – 8.00 KiB"));
  EXPECT_EQ(ask("window.fathom.view.value.metric"), "heap-live");
  // Of what else the site asked for the row stays.
  EXPECT_THAT(text("#histogram-0"), HasSubstr("128 B50"));
  expect_as_reported();
  const Json chosen = ask("window.fathom.report().total");
  ask("[...document.querySelectorAll('#histogram-0 button')].find((one) => one.textContent === '128 "
      "B').dispatchEvent(new MouseEvent('click', { shiftKey: true, bubbles: true }))");
  wait_for("location.hash.includes('sizes=64%3A8191')");
  EXPECT_GT(ask("window.fathom.report().total").get<double>(), chosen.get<double>());
  expect_as_reported();
  ask("history.back()");
  wait_for("location.hash.includes('sizes=4096%3A8191')");
  ask("document.querySelector('.chip').click()");
  wait_for("!location.hash.includes('sizes=')");
  // By typing; what is no size is said, and nothing changes.
  const auto type = [&](const std::string& words) {
    press("/");
    wait_for("document.activeElement.id === 'search'");
    ASSERT_TRUE(browser_->type(words).has_value());
    press("Enter");
  };
  type("size many");
  wait_for("document.querySelector('.notice').textContent.includes('64KiB:1MiB')");
  press("Escape");
  type("size 5kB:1MiB");
  wait_for("location.hash.includes('sizes=4096%3A2097151')");
  EXPECT_EQ(ask("window.fathom.report().total"), chosen);
  // CPU time has no sizes.
  ask("window.fathom.change({ metric: 'cpu' })");
  wait_for("!location.hash.includes('sizes=')");
  EXPECT_EQ(ask("window.fathom.report().total"), 800);
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
  EXPECT_EQ(ask("new Promise((done) => setTimeout(() => done(document.querySelector('#flame-table')."
                "textContent.includes('ksys_read')), 50))"),
            true);
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

TEST_F(PageInBrowser, WaitsAreToldByCauseAndByTheCodeThatWaits) {
  show("#m=cpu");
  press("5");
  wait_for("document.querySelector('#waits')");
  EXPECT_EQ(ask("document.querySelectorAll('#waits tbody tr').length"), 2);
  EXPECT_THAT(text("#waits tbody tr"), HasSubstr("unknown"));
  EXPECT_THAT(text("#waits tbody tr"), HasSubstr("Server::serve(int)"));
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

TEST_F(PageInBrowser, HidesFunctionsAndShowsStacksFromOne) {
  show("#m=cpu&threads=0");
  const auto enter = [&](const std::string& typed) {
    ask("document.activeElement.blur()");
    press("/");
    wait_for("document.activeElement.id === 'search'");
    // The word alone may be what is searched for.
    const std::size_t space = typed.find(' ');
    ASSERT_TRUE(browser_->type(typed.substr(0, space)).has_value());
    wait_for("document.querySelector('.found')");
    ASSERT_TRUE(browser_->type(typed.substr(space)).has_value());
    EXPECT_EQ(ask("document.querySelector('.found') === null"), true);  // no search
    press("Enter");
  };
  // Rows "name own total" of the tree, by their order.
  const std::string rows =
      "(() => { const { labels, self, total } = window.fathom.tree(); "
      "return labels.map((name, i) => `${name} ${self[i]} ${total[i]}`).sort(); })()";
  enter("show-from serve");
  wait_for("location.hash.includes('x=from%3Aserve')");
  EXPECT_EQ(ask(rows), Json({"Server::serve(int) 0 60", "Server::serve(int) 300 550", "all 0 550",
                             "json::parse<std::string, 12> 190 190", "json::parse<std::string, 12> 60 60"}));
  expect_as_reported();  // the command focuses on it
  EXPECT_THAT(text(".bar"),
              testing::AllOf(HasSubstr("show from serve"), testing::Not(HasSubstr("focus serve"))));
  enter("hide /^json::/");
  wait_for("location.hash.includes('x=hide')");
  EXPECT_EQ(ask(rows), Json({"Server::serve(int) 490 550", "Server::serve(int) 60 60", "all 0 550"}));
  expect_as_reported();
  // Back undoes one after the other; the chip drops the callers' and the stacks' part at once.
  ask("history.back()");
  wait_for("!location.hash.includes('x=hide')");
  ask("[...document.querySelectorAll('.chip')].find((chip) => chip.textContent.includes('show "
      "from')).click()");
  wait_for("!location.hash.includes('serve')");
  EXPECT_EQ(ask("document.querySelector('#total').dataset.total"), "800");
  // An address that is typed takes the same stacks.
  show("#m=cpu&threads=0&x=from:serve");
  EXPECT_EQ(ask("document.querySelector('#total').dataset.total"), "550");
  // Of two beginnings the last one holds.
  show("#m=cpu&threads=0&x=from:main&x=from:serve");
  EXPECT_EQ(ask(rows), Json({"Server::serve(int) 0 60", "Server::serve(int) 300 550", "all 0 550",
                             "json::parse<std::string, 12> 190 190", "json::parse<std::string, 12> 60 60"}));
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
