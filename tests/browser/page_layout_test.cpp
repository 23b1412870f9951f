// How the page is laid out and used: the view has most of the window at every size, names keep their last part, the summary follows
// the brush, everything has a name, and nothing is only a key.
#include "browser/page_of_a_server.h"

namespace fathom::browser {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

struct Size {
  int width, height;
};
constexpr std::array kSizes = {Size{1400, 1000}, Size{900, 800}, Size{420, 800}};
constexpr std::array kTabs = {"flame", "top",  "callers", "threads", "waits",
                              "heap",  "tree", "modules", "series",  "quality"};

TEST_F(PageInBrowser, TheViewHasMostOfTheWindowAtEverySize) {
  for (const Size& size : kSizes) {
    ASSERT_TRUE(browser_->resize(size.width, size.height).has_value());
    for (const std::string address : {"", "#m=cpu&t=4000-6000&tracks=1&threads=0", "#m=off-cpu&x=kernel"}) {
      SCOPED_TRACE(std::to_string(size.width) + address);
      show(address);
      wait_for("document.querySelector('.flame canvas')?.clientHeight > 0");
      // In parts of the window: where the view ends up, and how much of it is seen without scrolling.
      const Json seen =
          ask("(() => { const box = document.querySelector('main').getBoundingClientRect(); "
              "return (Math.min(innerHeight, box.bottom) - box.top) / innerHeight; })()");
      EXPECT_GE(seen.get<double>(), 0.599);
      // Rows of the graph that fit.
      EXPECT_GE(ask("document.querySelector('.flame').clientHeight / 19").get<double>(),
                0.5 * size.height / 19);
      EXPECT_EQ(ask("document.documentElement.scrollWidth <= innerWidth"), true);
      EXPECT_GE(ask("document.querySelector('.chart canvas').clientHeight").get<double>(), 60);
    }
  }
}

TEST_F(PageInBrowser, NoTextIsALoneMarkInAnyView) {
  for (const Size& size : kSizes) {
    ASSERT_TRUE(browser_->resize(size.width, size.height).has_value());
    for (const char* tab : kTabs) {
      SCOPED_TRACE(std::to_string(size.width) + tab);
      show(std::string("#m=cpu&v=") + tab + "&fn=" + "Server::serve(int)");
      EXPECT_EQ(
          ask("(() => { const walker = document.createTreeWalker(document.getElementById('app'), 4), out = []; "
              "for (let at; (at = walker.nextNode());) if (/^[\\s….:]*…[\\s….:]*$/.test(at.nodeValue)) "
              "out.push(at.parentElement.outerHTML); return out; })()"),
          Json::array());
      EXPECT_EQ(ask("document.documentElement.scrollWidth <= innerWidth"), true);
    }
  }
}

// Labels that do not fit: cut without a hint that has all of it, or outside of what holds them.
const std::string kCutLabels = R"js((() => {
  const out = [], labels = "#app :is(button, th, label, .subject, .legend span, dt, dd, h1, h2, h3, td:not(:has(.short)), .last, .axis span)";
  for (const one of document.querySelectorAll(labels)) {
    const box = one.getBoundingClientRect(), text = one.textContent.trim(), style = getComputedStyle(one);
    if (!text || !box.width || !box.height || style.visibility === "hidden") continue;
    if (one.closest(".visually-hidden, .when-focused, dialog, .canvas-table, .says")) continue;
    if (one.scrollWidth > one.clientWidth + 1 && style.display !== "inline" && !one.closest("[title]")) {
      out.push("cut: " + text);
      continue;
    }
    for (let up = one.parentElement; up && up.id !== "app"; up = up.parentElement) {
      const edge = up.getBoundingClientRect();
      if (getComputedStyle(up).overflowX !== "visible" && (box.right > edge.right + 1 || box.left < edge.left - 1)) {
        out.push(`at the side of ${up.className || up.tagName}: ${text}`);
        break;
      }
      if (up.matches(".over, .legend") && box.top < edge.bottom - 2 && box.bottom > edge.bottom + 2) {
        out.push(`at the lower edge of ${up.className}: ${text}`);
        break;
      }
    }
  }
  return out;
})())js";

TEST_F(PageInBrowser, NoLabelIsCutInAnyView) {
  for (const Size& size : kSizes) {
    ASSERT_TRUE(browser_->resize(size.width, size.height).has_value());
    show();  // with the folds that a page begins with
    for (const char* tab : kTabs) {
      SCOPED_TRACE(std::to_string(size.width) + tab);
      ask("window.fathom.change({ tab: '" + std::string(tab) + "' })");
      wait_for("document.querySelector('#view').value === '" + std::string(tab) + "'");
      wait_for(kCutLabels + ".length === 0");
      EXPECT_EQ(ask(kCutLabels), Json::array());
    }
    for (const std::string list : {"waits: 'longest'", "waits: 'locks'", "waits: 'chains'"}) {
      SCOPED_TRACE(std::to_string(size.width) + list);
      ask("window.fathom.change({ tab: 'waits', " + list + " })");
      wait_for(kCutLabels + ".length === 0");
      EXPECT_EQ(ask(kCutLabels), Json::array());
    }
  }
}

// The total may need much room, and leaves none for the options then.
TEST_F(PageInBrowser, NoTabIsCutByALongTotal) {
  show("#m=cpu");
  EXPECT_EQ(ask("document.querySelector('.options').className"), "options");
  ask("document.querySelector('#total').textContent = '1,234,567,890,123 samples of 2,345,678,901,234'");
  wait_for("document.querySelector('.options').className === 'options cramped'");
  EXPECT_EQ(
      ask("(() => { const tabs = document.querySelector('.tabs'); return tabs.scrollWidth <= tabs.clientWidth; })()"),
      true);
  EXPECT_EQ(ask("getComputedStyle(document.querySelector('.choices')).display"), "none");
  ask("document.querySelector('.fold-options').click()");
  wait_for("getComputedStyle(document.querySelector('.choices')).display === 'flex'");
  ask("document.querySelector('#total').textContent = '380 samples'");
  wait_for("document.querySelector('.options').className === 'options'");
}

// An address takes some milliseconds: one for each position of a brush would be most of its time.
TEST_F(PageInBrowser, ABrushThatMovesWritesItsAddressAtTheEnd) {
  show("#m=cpu");
  ask("(() => { window.written = 0; const write = history.replaceState; history.replaceState = function (...all) { "
      "window.written++; return write.apply(this, all); }; for (let i = 1; i <= 40; i++) window.fathom.change({ range: [0, i] }, "
      "true); })()");
  EXPECT_EQ(ask("window.written"), 0);
  wait_for("window.written > 0");
  EXPECT_EQ(ask("window.written"), 1);
  EXPECT_EQ(ask("new URLSearchParams(location.hash.slice(1)).has('t')"), true);
  // A step of its own comes after the address of the brush, so that Back leads to it.
  ask("window.fathom.change({ range: [0, 30] }, true)");
  const Json time =
      ask("(() => { window.fathom.change({ tab: 'top' }); return "
          "new URLSearchParams(location.hash.slice(1)).get('t'); })()");
  ask("history.back()");
  wait_for("!location.hash.includes('v=top')");
  EXPECT_EQ(ask("new URLSearchParams(location.hash.slice(1)).get('t')"), time);
}

TEST_F(PageInBrowser, SourceStandsNextToItsMachineCode) {
  const std::string code =
      R"js({"Server::serve(int)":{"all":100,"self":90,"sentences":["One sentence."],"blocks_left_out":0,"sources":
    {"/src/server.cpp":{"7":"int serve(int n) {","8":"  return n * n;","9":"}"}},"blocks":[{"function":"Server::serve","module":"server",
    "address":"0x1000","bytes":12,"gap":"","instructions":[
    {"address":"0x1000","text":"push rbp","self":0,"total":0,"chain":[{"function":"serve","file":"/src/server.cpp","line":7}]},
    {"address":"0x1001","text":"imul eax, eax","self":90,"total":90,"chain":[{"function":"serve","file":"/src/server.cpp","line":8}]},
    {"address":"0x1004","text":"ret","self":0,"total":0,"chain":[{"function":"serve","file":"/src/server.cpp","line":9}]}]}]}})js";
  const std::string put =
      "(async () => { const packed = new Blob([JSON.stringify(" + code +
      ")]).stream().pipeThrough(new CompressionStream('gzip')), bytes = new Uint8Array(await new Response(packed).arrayBuffer()), "
      "at = document.createElement('script'); at.type = 'text/plain'; at.id = 'code'; at.textContent = "
      "btoa(String.fromCharCode(...bytes)); document.body.append(at); })()";
  for (const int width : {1400, 420}) {
    SCOPED_TRACE(width);
    ASSERT_TRUE(browser_->resize(width, 900).has_value());
    show("#m=cpu&v=top");
    ask(put);
    ask("location.hash = '#m=cpu&v=callers&fn=Server::serve(int)'");
    wait_for("document.querySelector('.source-lines')");
    const Json sides =
        ask("[...document.querySelectorAll('.code-sides > div')].map((side) => { const box = "
            "side.getBoundingClientRect(); return [box.left, box.top]; })");
    ASSERT_EQ(sides.size(), 2u);
    EXPECT_EQ(sides[0][1] == sides[1][1], width == 1400);
    EXPECT_EQ(ask("document.documentElement.scrollWidth <= innerWidth"), true);
    EXPECT_THAT(text(".source-lines tbody"), AllOf(HasSubstr("100 %"), HasSubstr("return n * n;")));
    // A line shows its instructions, and an instruction its line.
    ask("[...document.querySelectorAll('.source-lines button')].find((one) => one.textContent.includes('n * n')).click()");
    wait_for("document.querySelector('.code-sides div:last-child tr.on')?.textContent.includes('imul')");
    ask("[...document.querySelectorAll('.code-sides div:last-child tr')].find((one) => one.textContent.includes('push')).click()");
    wait_for("document.querySelector('.source-lines tr.on')?.textContent.includes('int serve')");
  }
}

TEST_F(PageInBrowser, TheLegendOfTheLanesIsInSightOrOneClickAway) {
  for (const Size& size : kSizes) {
    ASSERT_TRUE(browser_->resize(size.width, size.height).has_value());
    SCOPED_TRACE(size.width);
    show("#m=cpu&tracks=1");
    wait_for("document.querySelector('.lane-legend span')");
    const auto visible = [&] {
      return ask("getComputedStyle(document.querySelector('.lane-legend')).visibility") == "visible";
    };
    if (!visible()) {
      ask("document.querySelector('#colours').click()");
      wait_for("document.querySelector('.lane-legend.open')");
    }
    EXPECT_TRUE(visible());
    EXPECT_EQ(
        ask("(() => { const edge = document.querySelector('.lane-legend').getBoundingClientRect(); return "
            "edge.height > 10 && edge.bottom <= innerHeight && edge.right <= innerWidth; })()"),
        true);
  }
}

TEST_F(PageInBrowser, NamesKeepTheirLastPartInPanelAndPath) {
  for (const Size& size : kSizes) {
    ASSERT_TRUE(browser_->resize(size.width, size.height).has_value());
    show("#m=cpu&threads=0&fn=Server::serve(int)");
    wait_for("document.querySelector('aside .last')");
    ask("window.fathom.zoom.value = window.fathom.tree().labels.lastIndexOf('Server::serve(int)')");
    wait_for("document.querySelector('.crumb')");
    EXPECT_EQ(
        ask("[...document.querySelectorAll('aside .last, .crumb .last')].filter((one) => one.scrollWidth > "
            "one.clientWidth + 1).map((one) => one.textContent)"),
        Json::array());
    EXPECT_THAT(text(".crumbs"), HasSubstr("serve"));
  }
}

TEST_F(PageInBrowser, TheSummaryIsOfTheSelectedTime) {
  show();
  EXPECT_THAT(text(".story"), AllOf(HasSubstr("CPU"), HasSubstr("Quality")));
  EXPECT_GE(ask("document.querySelectorAll('.story b').length").get<int>(), 3);
  EXPECT_EQ(ask("document.querySelector('#about')"), Json());
  const auto [from_x, y] = lane_at(0.5);
  const auto [to_x, unused] = lane_at(0.75);
  ASSERT_TRUE(browser_->drag(from_x, y, to_x, y).has_value());
  wait_for("document.querySelector('#about')?.textContent.startsWith('5 – 7.5')");
  wait_for("document.querySelector('.story').textContent.includes('ksys_read')");
  EXPECT_THAT(text(".story li"), AllOf(HasSubstr("cores; most in"), HasSubstr("(73.5 %)")));
  EXPECT_THAT(text(".story .quality"), HasSubstr("340 samples in this time"));
  // A function of it is a link to its stacks.
  ask("document.querySelector('.story li .says button').click()");
  wait_for("location.hash.includes('fn=ksys_read')");
  EXPECT_EQ(ask("location.hash.includes('t=5000-75')"), true);
  ask("[...document.querySelectorAll('.bar .chip')].find((chip) => chip.textContent.startsWith('5 –')).click()");
  wait_for("!document.querySelector('#about')");
}

TEST_F(PageInBrowser, OfTwoTimesTheLargestChangeComesFirst) {
  // In both times the CPU is used; of the heap, twice as much is live in the later one.
  show("#m=off-cpu&t=4000-6000&b=0-2000");
  wait_for("document.querySelector('#about')?.textContent === 'from 0 – 2 s to 4 – 6 s'");
  const Json lines =
      ask("[...document.querySelectorAll('.story li')].map((line) => [line.className === 'noise', "
          "line.querySelector('.subject').textContent])");
  ASSERT_GE(lines.size(), 3u);
  EXPECT_EQ(lines[0][0], false);
  bool noise = false;
  for (std::size_t i = 0; i + 1 < lines.size(); ++i) {
    EXPECT_TRUE(!noise || lines[i][0] == true) << lines.dump();
    noise = lines[i][0] == true;
  }
  EXPECT_THAT(text(".story .says"), HasSubstr("→"));
}

TEST_F(PageInBrowser, BeginsFoldedAndSaysSo) {
  show();
  wait_for("document.querySelector('.chip.edit')");
  EXPECT_THAT(text(".bar"), HasSubstr("kernel side folded"));
  EXPECT_EQ(ask("window.fathom.tree().labels.includes('ksys_read')"), false);
  EXPECT_EQ(ask("window.fathom.tree().labels.includes('kernel')"), true);
  EXPECT_THAT(text(".legend.colors"), HasSubstr("kernel"));
  ask("document.querySelector('.chip.edit').click()");
  wait_for("window.fathom.tree().labels.includes('ksys_read')");
  // An address says itself what is folded.
  show("#m=cpu");
  EXPECT_EQ(ask("window.fathom.tree().labels.includes('ksys_read')"), true);
}

TEST_F(PageInBrowser, AFrameHasAMenuForMouseAndKeyboard) {
  show("#m=cpu&threads=0");
  const auto items = [&] {
    return ask("[...document.querySelectorAll('.menu [role=menuitem] span')].map((one) => one.textContent)");
  };
  ask("(() => { const at = document.querySelector('.flame canvas'), box = at.getBoundingClientRect(); "
      "at.dispatchEvent(new MouseEvent('contextmenu', { clientX: box.x + 20, clientY: box.y + 50, bubbles: true, "
      "cancelable: true })); })()");
  wait_for("document.querySelector('.menu')");
  EXPECT_THAT(text(".menu p"), HasSubstr("Server::serve"));
  for (const char* item : {"Focus", "Leave out", "Hide", "Collapse server", "Callers and callees",
                           "Copy name", "Copy as command"})
    EXPECT_THAT(items().dump(), HasSubstr(item));
  press("Escape");
  wait_for("!document.querySelector('.menu')");
  // By keyboard in the graph: down to main, down to serve, its menu, and the second item of it.
  ask("document.querySelector('.graph').focus()");
  press("ArrowDown");
  press("ArrowDown");
  press(".");
  wait_for("document.querySelector('.menu p')?.textContent.includes('Server::serve')");
  EXPECT_EQ(ask("document.activeElement.textContent"), "Focusf");
  press("ArrowDown");
  press("Enter");
  wait_for("location.hash.includes('ignore=Server')");
  EXPECT_EQ(ask("document.querySelector('.menu')"), Json());
  EXPECT_EQ(ask("document.activeElement.className"), "graph");
  expect_as_reported();
  // A name in a table has the same menu.
  show("#m=cpu&v=top");
  wait_for("document.querySelector('#top .name')");
  ask("document.querySelector('#top .name').dispatchEvent(new MouseEvent('contextmenu', { clientX: 300, clientY: 300, "
      "bubbles: true, cancelable: true }))");
  wait_for("document.querySelector('.menu')");
  ask("[...document.querySelectorAll('.menu button')].find((one) => one.textContent.startsWith('Hide')).click()");
  wait_for("location.hash.includes('x=merge')");
}

TEST_F(PageInBrowser, TablesAreSortedAndHaveBarsLinesAndModules) {
  show("#m=cpu&v=top");
  EXPECT_THAT(text("#top thead"),
              AllOf(HasSubstr("self"), HasSubstr("±"), HasSubstr("line"), HasSubstr("module")));
  EXPECT_GE(ask("document.querySelectorAll('#top .bar-cell').length").get<int>(), 6);
  const auto first = [&](const std::string& column) {
    ask("[...document.querySelectorAll('#top th button')].find((one) => one.textContent.startsWith('" +
        column + "')).click()");
    wait_for("[...document.querySelectorAll('#top th button')].find((one) => one.textContent.startsWith('" +
             column + "')).closest('th').getAttribute('aria-sort') !== 'none'");
    return text("#top tbody tr .name");
  };
  EXPECT_EQ(first("self"), "Server::serve(…)");
  EXPECT_EQ(first("total"), "main");
  EXPECT_EQ(first("module"), "ksys_read");
  EXPECT_THAT(text("#top tbody tr"), HasSubstr("± 31"));
}

TEST_F(PageInBrowser, CallersBeginWithTheHottestFunctionAndEmptyViewsSayWhatToDo) {
  show("#m=cpu&v=callers");
  wait_for("document.querySelector('.callers h2')");
  EXPECT_EQ(text(".callers h2"), "Server::serve(int)");
  show("#m=cpu&focus=no_such_function");
  wait_for("document.querySelector('.empty')");
  EXPECT_THAT(text(".empty"), AllOf(HasSubstr("Drop the focus"), HasSubstr("show everything")));
  ask("document.querySelector('.empty button').click()");
  wait_for("document.querySelector('.flame canvas')");
}

TEST_F(PageInBrowser, LanesFoldMoveGrowAndShowThreads) {
  show("#m=cpu");
  const auto height = [&] {
    return ask("document.querySelector('.chart canvas').clientHeight").get<double>();
  };
  const double before = height();
  EXPECT_LE(before, 4 * 30 + 14);  // four lanes, and the row of marks
  EXPECT_GE(before, 4 * 16 + 14);
  press("L");
  wait_for("document.querySelectorAll('.label.track').length === 2");
  EXPECT_THAT(text(".labels"), HasSubstr("it's a worker"));
  EXPECT_THAT(text(".lane-legend"), AllOf(HasSubstr("running"), HasSubstr("other waits")));
  // A cause has one entry, in lanes and tracks.
  EXPECT_EQ(
      ask("(() => { const names = [...document.querySelectorAll('.of-lane')].filter((one) => "
          "/^(Waiting|Threads)/.test(one.textContent)).flatMap((one) => [...one.querySelectorAll('span')]).map((one) => "
          "one.textContent); return new Set(names).size === names.length; })()"),
      true);
  press("L");
  wait_for("!document.querySelector('.label.track')");
  ask("document.querySelector('.lane-title').click()");
  wait_for("document.querySelector('.label').clientHeight === 14");
  ask("document.querySelector('.lane-title').click()");
  wait_for("document.querySelector('.label').clientHeight > 14");
  // The first lane changes places with the second one.
  const std::string second = text(".label:nth-child(2) b");
  ask("document.querySelector('.lane-title').dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowDown', altKey: true, "
      "bubbles: true }))");
  wait_for("document.querySelector('.label b').textContent === '" + second + "'");
  ask("document.querySelector('.splitter').focus()");
  for (int i = 0; i < 4; ++i) press("ArrowDown");
  wait_for("document.querySelector('.chart canvas').clientHeight > " + std::to_string(before + 20));
  press("Enter");
  wait_for("document.querySelector('.chart canvas').clientHeight === " + std::to_string(before));
  ask("document.querySelector('.lane-tools button').click()");
  wait_for("location.hash.includes('lanes=0')");
  wait_for("document.querySelector('main').clientHeight > 0.75 * innerHeight");
}

TEST_F(PageInBrowser, HelpListsEveryKeyAndTheMetricsAreWords) {
  show("#m=cpu");
  press("?");
  wait_for("document.querySelector('dialog')?.open");
  for (const char* key : {"/", "f", "d", "H", "F", "M", "i", "t", "u", "o", "l",  "k",
                          "r", "y", "Y", "b", "L", "m", "x", "[", "s", "c", "Esc"})
    EXPECT_EQ(ask("[...document.querySelectorAll('.help kbd')].some((one) => one.textContent === '" +
                  std::string(key) + "')"),
              true)
        << key;
  press("Escape");
  wait_for("!document.querySelector('dialog').open");
  const std::string metrics =
      ask("[...document.querySelectorAll('#metric option')].map((one) => one.textContent)").dump();
  EXPECT_THAT(metrics, AllOf(HasSubstr("CPU time"), HasSubstr("Waiting"), HasSubstr("Live memory"),
                             Not(HasSubstr("(samples)"))));
}

TEST_F(PageInBrowser, WaitingIsColouredByItsCauseAndListsTheCodeThatWaits) {
  show("#m=off-cpu&threads=0");
  wait_for("document.querySelector('#color')?.value === 'cause'");
  EXPECT_THAT(text(".legend.colors"), HasSubstr("other waits"));
  EXPECT_THAT(text("aside"), AllOf(HasSubstr("Where it waits"), HasSubstr("Server::serve")));
  // A lane and the graph have one colour for a cause.
  EXPECT_EQ(
      ask("document.querySelector('.legend.colors s').style.background"),
      ask("[...document.querySelectorAll('.lanes .legend span')].find((one) => one.textContent === "
          "document.querySelector('.legend.colors span').textContent).querySelector('s').style.background"));
  show("#m=cpu");
  EXPECT_EQ(ask("document.querySelector('#color').value"), "crate");
  EXPECT_EQ(ask("[...document.querySelectorAll('#color option')].some((one) => one.value === 'cause')"),
            false);
  show("#m=heap-live");
  EXPECT_THAT(text("aside"), HasSubstr("Which code allocates it"));
}

// The button's title is what it copies.
TEST_F(PageInBrowser, TheCopiedCommandPrintsTheViewThatIsOpen) {
  const auto copied = [&](const std::string& address) {
    show(address);
    return ask("document.getElementById('copy').title").get<std::string>();
  };
  for (const auto& [tab, table] : std::vector<std::pair<std::string, std::string>>{
           {"flame", " --tree"},
           {"flame&i=1", " --tree=callers"},
           {"top", ""},
           {"callers&fn=Server::serve(int)", " --callers 'Server::serve(int)'"},
           {"threads", " --threads"},
           {"waits", " --waits"},
           {"waits&waits=locks", " --locks"},
           {"heap", " --heap"},
           {"tree", " --tree"},
           {"modules", " --modules"},
           {"series", " --series"},
           {"quality", " --all"}}) {
    const std::string command = copied("#m=cpu&t=4000-6000&v=" + tab);
    EXPECT_EQ(command, "fathom report server.fathom --metric cpu --from 4 --until 6" + table);
    std::vector<std::string> words = words_of(command);
    words.erase(words.begin());
    words[1] = recording();
    EXPECT_EQ(ended(start_program(words, folder_ + "/copied.txt")), 0) << command;
    EXPECT_NE(read_file(folder_ + "/copied.txt").value_or(""), "") << command;
  }
  // What is hidden in the graph is hidden in the printed tree, and nothing else is.
  const std::string hidden = copied("#m=cpu&threads=0&x=merge:Server::serve(int)");
  EXPECT_THAT(hidden, HasSubstr("--hide '/^Server::serve\\(int\\)$/'"));
  std::vector<std::string> words = words_of(hidden);
  words.erase(words.begin());
  words[1] = recording();
  ASSERT_EQ(ended(start_program(words, folder_ + "/copied.txt")), 0) << hidden;
  EXPECT_THAT(read_file(folder_ + "/copied.txt").value_or(""),
              AllOf(HasSubstr("main"), HasSubstr("json::parse"), Not(HasSubstr("Server::serve("))));
}

TEST_F(PageInBrowser, EverythingThatCanBeUsedHasANameInEveryView) {
  for (const char* tab : kTabs) {
    SCOPED_TRACE(tab);
    show(std::string("#m=cpu&tracks=1&v=") + tab);
    EXPECT_EQ(
        ask("[...document.querySelectorAll('button, a, input, select, canvas[tabindex], [role=separator], [role=application], "
            "[role=tablist], [role=menu]')].filter((one) => !(one.getAttribute('aria-label') || one.textContent.trim() || "
            "one.labels?.length || one.title)).map((one) => one.outerHTML.slice(0, 120))"),
        Json::array());
    // Nothing that is reached by Tab is out of sight for good.
    EXPECT_EQ(
        ask("document.querySelectorAll('[tabindex]:not([tabindex=\"0\"]):not([tabindex=\"-1\"])').length"),
        0);
    EXPECT_EQ(ask("document.documentElement.lang"), "en");
  }
}

TEST_F(PageInBrowser, AtTwiceTheZoomNothingIsLost) {
  ASSERT_TRUE(browser_->resize(700, 500).has_value());  // 1400 x 1000 at 200 %
  for (const char* tab : kTabs) {
    SCOPED_TRACE(tab);
    show(std::string("#m=cpu&v=") + tab);
    EXPECT_EQ(ask("document.documentElement.scrollWidth <= innerWidth"), true);
    EXPECT_GE(ask("document.querySelector('main').clientHeight / innerHeight").get<double>(), 0.6);
  }
}

}  // namespace
}  // namespace fathom::browser
