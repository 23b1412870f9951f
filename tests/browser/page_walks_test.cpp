// Ways through the page that an incident, a slow moment and a regression take, with the keyboard alone; and the views that
// they pass: waits one by one and who ended them, locks, the heap between two marks, sizes and lifetimes, transforms.
#include "analysis/core/hand_made_profile.h"
#include "browser/page_testing.h"

namespace fathom::browser {
namespace {

using model::ObjectKind;
using testing::HasSubstr;
using testing::Not;

// Ten seconds of a database: from 4 to 6 s the engine waits for a lock that the persistence thread holds during its fsync,
// and parses more; a cache grows from 2 s on.
model::Profile database_profile() {
  analysis::HandMade hand;
  const auto process = hand.process(10, "db");
  const auto engine = hand.thread(process, 10, "engine"),
             persistence = hand.thread(process, 11, "persistence");
  const auto app = hand.module("db", model::ModuleKind::kFile, model::SymbolSource::kDwarf);
  const auto libc = hand.module("libc.so.6", model::ModuleKind::kFile, model::SymbolSource::kDynsym);
  const auto kernel = hand.module("[kernel]", model::ModuleKind::kKernel, model::SymbolSource::kKallsyms);
  const auto main = hand.frame(app, {"main"}), serve = hand.frame(app, {"db::serve"}),
             unwind = hand.frame(app, {"Pipeline::unwind"}), parse = hand.frame(app, {"db::parse"}),
             save = hand.frame(app, {"Persistence::save"}),
             unlock = hand.frame(app, {"Persistence::release"}), insert = hand.frame(app, {"Cache::insert"}),
             pool = hand.frame(app, {"Pool::take"});
  const auto futex = hand.frame(libc, {"syscall"}), fsync = hand.frame(libc, {"fsync"}),
             malloc = hand.frame(libc, {"malloc"});
  const auto futex_wait = hand.frame(kernel, {"futex_wait"}), sync = hand.frame(kernel, {"vfs_fsync_range"});
  for (int i = 0; i < 100; ++i) {
    const double at = i * 0.1;
    hand.sample(engine, hand.stack({main, serve, i % 2 == 0 ? unwind : serve}), 3, at);
    if (i >= 40 && i < 60) hand.sample(engine, hand.stack({main, serve, serve, parse}), 4, at + 0.05);
  }
  const auto lock = hand.object(ObjectKind::kFutex, "", 0x7f0000001000);
  const auto log = hand.object(ObjectKind::kFile, "/data/x.log");
  for (int i = 0; i < 20; ++i) {
    const double at = 4.0 + i * 0.1;
    hand.wait(persistence, hand.stack({main, save, fsync, sync}), "fsync", at - 0.001, 78, 0, log).state =
        model::WaitState::kUninterruptible;
    model::Wait& wait = hand.wait(engine, hand.stack({main, serve, unwind, futex, futex_wait}), "futex", at,
                                  80 + i % 3, 0, lock);
    wait.argument = 128;
    wait.waker = persistence;
    wait.waker_stack = hand.stack({main, unlock, futex});
  }
  model::HeapTables& tables = hand.profile.heap;
  model::Heap heap;
  heap.process = process;
  heap.mode = model::HeapMode::kExact;
  heap.start_ns = hand.profile.meta.start_ns;
  heap.end_ns = hand.profile.meta.end_ns;
  for (const auto where : {insert, pool})
    tables.sites.push_back({{0}, hand.stack({main, serve, where, malloc}), {0}, engine, 0});
  add_heap_course(hand.profile, heap, 10, [](std::uint32_t second, std::uint32_t site) {
    model::HeapRow row;
    row.allocated = {10, site == 0 ? 1'000'000.0 : 20'000.0};
    row.freed = site == 0 && second >= 2 ? model::HeapSum{} : row.allocated;
    return row;
  });
  // While it syncs, a task of its group waits for the device half of the time; read every 50 ms.
  model::Series stalls;
  stalls.name = hand.builder.string("cgroup.io_stall_some");
  stalls.unit = hand.builder.string("us");
  for (std::uint64_t i = 0; i <= 200; ++i)
    stalls.points.push_back(
        {hand.profile.meta.start_ns + i * 50'000'000, 25'000.0 * static_cast<double>(i <= 80    ? 0
                                                                                     : i >= 120 ? 40
                                                                                                : i - 80)});
  hand.profile.series.push_back(stalls);
  // A hundred blocks of 64 to 128 KiB, and as many of 1 to 2 KiB, of which 99 lived for half a millisecond.
  tables.histograms.push_back({{0}, model::HeapHistogramKind::kSize, 17, {100, 0}});
  tables.histograms.push_back({{1}, model::HeapHistogramKind::kSize, 11, {100, 0}});
  tables.histograms.push_back({{1}, model::HeapHistogramKind::kLifetime, 19, {99, 0}});
  return std::move(hand.profile);
}

class PageWalks : public PageTest {
 protected:
  static void SetUpTestSuite() { set_up(database_profile()); }
  // With the tab key, like a user without a mouse.
  void tab_to(const std::string& what) {
    for (int i = 0; i < 120; ++i) {
      if (ask("(() => { const on = document.activeElement; return !!(on && (" + what + ")); })()") == true)
        return;
      press("Tab");
    }
    ADD_FAILURE() << "the tab key does not come to: " << what;
  }
  void press_times(const std::string& key, int times) {
    for (int i = 0; i < times; ++i) press(key);
  }
  void leave() { ask("document.activeElement.blur()"); }
};

TEST_F(PageWalks, AnIncidentFromTheSentenceToTheCallersOfWhatGrew) {
  show();
  tab_to("on.closest('.story') && /heap|Live|grow/i.test(on.textContent)");  // the sentence about the heap
  press("Enter");
  wait_for("location.hash.includes('m=heap-live')");
  tab_to("on.matches('.chart canvas')");  // the slope: 2 s, then its end moves on
  press("ArrowRight");
  wait_for("location.hash.includes('t=0-2000')");
  press_times("ArrowRight", 10);
  wait_for("location.hash.includes('t=2000-4000')");
  tab_to("on.id === 'metric'");
  ask("document.activeElement.value");
  for (int i = 0; i < 8 && ask("document.activeElement.value") != "heap-growth"; ++i) press("ArrowDown");
  wait_for("location.hash.includes('m=heap-growth')");
  expect_as_reported();
  leave();
  press("6");  // the heap between both marks
  wait_for("document.querySelector('#sites')");
  EXPECT_THAT(text("#sites tbody tr"), HasSubstr("Cache::insert"));
  EXPECT_THAT(text("#sites tbody tr"), HasSubstr("+1.91 MiB"));
  EXPECT_EQ(text("#heap-growth"), "1.91 MiB");
  tab_to("on.textContent === 'Cache::insert'");
  press("Enter");
  wait_for("location.hash.includes('focus=Cache')");
  leave();
  press("3");
  wait_for("document.querySelector('.callers h2')");
  EXPECT_THAT(text(".callers h2"), HasSubstr("Cache::insert"));
  EXPECT_THAT(text(".callers .two"), HasSubstr("db::serve"));
  expect_as_reported();
  ask("history.back()");
  wait_for("location.hash.includes('v=heap')");
}

TEST_F(PageWalks, ASlowMomentFromTheStripeToTheThreadThatHeldTheLock) {
  show("#m=cpu");
  tab_to("on.matches('.heat[data-lane=cpu]')");  // the heat map of the CPU
  press("Enter");
  wait_for("location.hash.includes('heat=cpu')");
  tab_to("on.matches('.chart canvas')");
  press("ArrowRight");  // a normal time: the first two seconds
  wait_for("location.hash.includes('t=0-2000')");
  press("b");
  wait_for("location.hash.includes('b=0-2000')");
  press("ArrowRight");
  press_times("ArrowRight", 20);  // and the stripe next to it: 4 to 6 s
  wait_for("location.hash.includes('t=4000-6000')");
  wait_for("document.querySelector('#compared')");
  leave();
  press("2");
  wait_for("document.querySelector('#top')");
  EXPECT_THAT(text("#top"), HasSubstr("db::parse"));
  EXPECT_THAT(text("#top"), HasSubstr("new"));
  press("5");
  wait_for("document.querySelector('#waits')");
  EXPECT_THAT(text("#waits tbody tr"), HasSubstr("Pipeline::unwind"));
  tab_to("on.textContent === 'longest'");
  press("Enter");
  wait_for("document.querySelector('#longest')");
  EXPECT_EQ(ask("document.querySelectorAll('#longest tbody tr').length"), 40);
  EXPECT_THAT(text("#longest tbody tr"), HasSubstr("82.0 ms"));
  tab_to("on.closest('#longest tbody') && on.textContent === '82.0 ms'");
  press("Enter");
  wait_for("document.querySelector('.chain')");
  EXPECT_THAT(text(".chain li:nth-child(1)"), HasSubstr("engine 10 waited 82.0 ms for futex"));
  EXPECT_THAT(text(".chain li:nth-child(1)"),
              HasSubstr("ended by persistence 11, which was in Persistence::release"));
  EXPECT_THAT(text(".chain li:nth-child(2)"),
              HasSubstr("persistence 11 waited 77.0 ms for file sync (/data/x.log)"));
  EXPECT_THAT(text(".chain li:nth-child(2)"), HasSubstr("Persistence::save"));
  EXPECT_EQ(ask("/wait=[0-9]+/.test(location.hash)"), true);
  ask("history.back()");
  wait_for("!document.querySelector('.chain')");
}

TEST_F(PageWalks, StallsOfDevicesAreAHeatMapOnRequest) {
  show("#m=cpu");
  EXPECT_THAT(text(".labels"), HasSubstr("stalls of the group"));
  ask("document.querySelector('.heat[data-lane=io]').click()");
  wait_for("location.hash.includes('heat=io')");
  EXPECT_THAT(text(".labels"), HasSubstr("a column is 1 s, from below up; strong: much"));
  EXPECT_THAT(text(".labels"), Not(HasSubstr("nothing finer")));
  // Columns of the seconds 1, 4, 5 and 8: only the two with waits have colour, over their whole height.
  const Json coloured = ask(
      "new Promise((done) => requestAnimationFrame(() => { const label = "
      "document.querySelector('.heat[data-lane=io]').parentElement, canvas = document.querySelector('.chart "
      "canvas'), copy = new OffscreenCanvas(canvas.width, canvas.height), pen = copy.getContext('2d', { "
      "willReadFrequently: true }); pen.drawImage(canvas, 0, 0); const top = "
      "label.getBoundingClientRect().top "
      "- canvas.getBoundingClientRect().top; const { data, width, height } = pen.getImageData(0, "
      "Math.round(top) + 4, canvas.width, 90); done([0.15, 0.45, 0.55, 0.85].map((part) => { let n = 0; for "
      "(let y = 0; y < height; y++) { const at = 4 * (y * width + Math.round(width * part)); if (data[at] > "
      "data[at + 2] + 8) n++; } return n > 60 ? 'all' : n > 0 ? n : 'none'; })); }))");
  EXPECT_EQ(coloured, Json({"none", "all", "all", "none"}));
  ask("history.back()");
  wait_for("!location.hash.includes('heat=')");
}

TEST_F(PageWalks, ARegressionFromTwoTimesToTheBoxThatIsNew) {
  show("#m=cpu&threads=0&t=4000-6000&b=0-2000");
  wait_for("document.querySelector('#compared')");
  EXPECT_THAT(text("#compared"), HasSubstr("went from"));
  tab_to("on.matches('.graph')");
  press_times("ArrowDown", 4);
  press("Enter");
  wait_for("location.hash.includes('fn=')");
  leave();
  press("3");
  wait_for("document.querySelector('.callers h2')");
  press("c");
  wait_for("document.querySelector('.notice').textContent.startsWith('copied: fathom diff')");
  EXPECT_THAT(text(".notice"), HasSubstr("--base :2 --new 4:6"));
}

TEST_F(PageWalks, LocksFilesAndChainsHaveTheTimeThatTheirWaitsTook) {
  show("#m=off-cpu&v=waits&waits=locks");
  wait_for("document.querySelector('#locks')");
  EXPECT_THAT(text("#locks tbody tr"),
              HasSubstr("1.62 s"));  // 20 x 80 ms, and 1 or 2 ms more for two thirds of them
  EXPECT_THAT(text("#locks tbody tr"), HasSubstr("0x7f0000001000 of pid 10"));
  show("#m=off-cpu&v=waits&waits=files&t=4000-5000");
  wait_for("document.querySelector('#files')");
  EXPECT_THAT(text("#files tbody tr"), HasSubstr("/data/x.log"));
  EXPECT_THAT(
      text("#files tbody tr"),
      HasSubstr("780 ms"));  // ten of the twenty; the first begins before its edge, and the next one in it
  show("#m=off-cpu&v=waits&waits=chains");
  wait_for("document.querySelector('#chains')");
  EXPECT_THAT(text("#chains tbody tr"),
              testing::AllOf(HasSubstr("engine futex in "), HasSubstr("← persistence")));
}

TEST_F(PageWalks, SizesAndLifetimesAreCounted) {
  show("#m=heap-live&v=heap&heap=sizes");
  wait_for("document.querySelector('#histogram-0')");
  // Rows of nothing stand between the two sizes.
  EXPECT_EQ(ask("[...document.querySelectorAll('#histogram-0 tbody tr')].map((row) => "
                "row.textContent).filter((t) => !t.endsWith('00 %'))"),
            Json::array({"2.00 KiB10050.0 %", "128 KiB10050.0 %"}));
  EXPECT_THAT(text("#histogram-1"), HasSubstr("524 us99"));
  show("#m=heap-live&v=heap&heap=sizes&focus=Pool");
  wait_for("document.querySelector('#histogram-0')");
  EXPECT_THAT(text("#histogram-0"), Not(HasSubstr("128 KiB")));
}

TEST_F(PageWalks, TransformsKeepSums) {
  show("#m=cpu&threads=0");
  const std::string total = text("#total");
  const auto rows = [&] {
    const Json json =
        ask("(() => { const t = window.fathom.tree(); return [t.total[0], t.self.reduce((a, b) => a + b, 0), "
            "t.labels]; })()");
    return json;
  };
  Json before = rows();
  EXPECT_EQ(before[0], before[1]);
  for (const char* edit : {"merge:db::serve", "collapse:db", "own", "recursion", "runtime"}) {
    ask(std::string("window.fathom.change({ edits: ['") + edit + "'] })");
    const Json after = rows();
    EXPECT_EQ(after[0], before[0]) << edit;
    EXPECT_EQ(after[1], before[0]) << edit;
    const std::string labels = after[2].dump();
    if (std::string(edit) == "merge:db::serve") {
      EXPECT_THAT(labels, Not(HasSubstr("\"db::serve\"")));
    } else if (std::string(edit) == "collapse:db") {
      EXPECT_THAT(labels, HasSubstr("[\"all\",\"db (all of it)\"]"));
    } else if (std::string(edit) == "recursion") {
      EXPECT_EQ(after[2], Json::parse(R"(["all","main","db::serve","Pipeline::unwind","db::parse"])"));
    }
    EXPECT_EQ(text("#total"), total);
  }
  ask("window.fathom.change({ edits: [], order: 'time' })");
  EXPECT_EQ(rows()[0], before[0]);
  // The first half second alternates between two places: no box stands next to itself, and there are more
  // than by size.
  EXPECT_GT(rows()[2].size(), before[2].size() + 20);
}

TEST_F(PageWalks, SearchGoesToTheNextAndTheTreeIsWalked) {
  show("#m=cpu&threads=0");
  press("/");
  wait_for("document.activeElement.id === 'search'");
  ASSERT_TRUE(browser_->type("unwind").has_value());
  wait_for("document.querySelector('.found')");
  press("ArrowDown");
  wait_for("document.querySelector('.crumbs')?.textContent.includes('Pipeline::unwind')");
  wait_for("document.querySelector('.found')?.textContent === '1 box, 100 % of the zoom'");
  press("Escape");
  press("Escape");
  press("7");
  wait_for("document.querySelector('#tree')");
  tab_to("on.id === 'tree'");
  press_times("ArrowDown", 2);
  wait_for("document.querySelector('#tree tr.on .name')?.textContent === 'db::serve'");
  EXPECT_EQ(ask("document.querySelectorAll('#tree tbody tr').length"), 6);  // the way to the largest is open
  press("ArrowLeft");
  wait_for("document.querySelectorAll('#tree tbody tr').length === 3");
  press("8");
  wait_for("document.querySelector('#modules')");
  EXPECT_THAT(text("#modules tbody tr"), HasSubstr("functions, inlined calls, lines"));
}

// What people come for, each within three actions: a key, a click, a drag, or a word that is typed.
TEST_F(PageWalks, TenTasksTakeAtMostThreeActionsEach) {
  int actions = 0;
  const auto begin = [&](const char* address = "") {
    show(address);
    actions = 0;
  };
  const auto key = [&](const char* name) {
    ++actions;
    press(name);
  };
  const auto click = [&](const std::string& selector, const std::string& words = "") {
    ++actions;
    const std::string found = "[...document.querySelectorAll('" + selector +
                              "')].find((one) => one.textContent.includes('" + words + "'))";
    wait_for(found);
    ask(found + ".click()");
  };
  const auto drag = [&](double from, double to) {
    ++actions;
    const auto [start, y] = lane_at(from);
    ASSERT_TRUE(browser_->drag(start, y, lane_at(to).first, y).has_value());
  };
  const auto answered = [&](const std::string& selector, const char* answer) {
    wait_for("document.querySelector('" + selector + "')?.textContent.includes('" + answer + "')");
    EXPECT_LE(actions, 3) << answer;
  };
  begin();
  key("3");
  answered(".callers .two", "db::serve");  // who calls the hottest function
  begin();
  key("2");
  answered("#top tbody tr", "db::serve");  // what is hot
  begin();
  click(".heat[data-lane=wait]");
  answered(".label.wait .note", "a column is 1 s");  // the slow second
  begin();
  key("5");
  click(".lists button", "longest");
  click("#longest tbody button");
  answered(".chain", "ended by persistence");  // who holds the lock
  begin();
  key("6");
  answered("#sites tbody tr", "Cache::insert");  // what grew
  begin();
  drag(0.02, 0.2);
  key("b");
  drag(0.42, 0.58);
  answered(".story li", "→");  // what changed
  begin();
  key("4");
  answered("#threads tbody tr", "engine");  // which thread is busy
  begin();
  key("8");
  click("#modules .only");
  answered(".bar", "module");  // one module alone
  begin();
  key("/");
  ++actions;
  ASSERT_TRUE(browser_->type("unwind").has_value());
  key("Enter");
  answered(".bar", "unwind");  // one function alone
  begin();
  click(".story .subject", "Waiting");
  answered("#color", "cause of the wait");  // what threads wait for, in colours
  begin();
  key("c");
  answered(".notice", "copied: fathom report");  // the same in a terminal
}

TEST_F(PageWalks, CanvasesHaveATableThatCopies) {
  show("#m=cpu&threads=0");
  EXPECT_EQ(text("#flame-table tbody tr"), "0all0 samples380 samples100 %");
  EXPECT_THAT(text("#flame-table"), HasSubstr("db::parse"));
  EXPECT_EQ(ask("document.querySelectorAll('#lanes-table tbody tr').length"), 20);
  tab_to("on.textContent === 'copy as text' && on.closest('.flame')");
  press("Enter");
  wait_for("/^copied: \\d+ rows as text/.test(document.querySelector('.notice').textContent)");
}

}  // namespace
}  // namespace fathom::browser
