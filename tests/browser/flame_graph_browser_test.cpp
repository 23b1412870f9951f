// The flame graph in a real browser, from a file: no complaint on the console, and what a user does has the
// result that a user sees. FATHOM_SCREENSHOTS=FOLDER keeps pictures to look at.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <tuple>

#include "analysis/diff/hand_made_sides.h"
#include "base/files.h"
#include "browser/chromium.h"
#include "present/svg/diff_flame_graph.h"
#include "present/svg/flame_graph.h"
#include "present/svg/flame_graph_testing.h"

namespace fathom::browser {
namespace {

using present::FlameGraphOptions;
using present::Folded;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

// 1,000 samples. "find" stands above "find_all" above "main"; "rare" is too narrow to draw.
const Folded kStacks = {{"worker;main;run;store::find_all(int);store::find(int);memcmp[libc.so.6]", 300},
                        {"worker;main;run;store::find_all(int);store::find(int)", 100},
                        {"worker;main;run;net::Server::read_some();sys_read_[k]", 396},
                        {"worker;main;run;Find_other", 200},
                        {"worker;main;run;rare_one", 1},
                        {"worker;main;run;rare_two;find_in_rare", 1},
                        {"worker;main;run;zebra", 2}};

class FlameGraphInBrowser : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (find_chromium().empty()) return;
    auto started = Chromium::start(1200, 500);
    ASSERT_TRUE(started.has_value()) << started.error().message;
    browser_ = std::move(*started);
    std::string pattern = (std::filesystem::temp_directory_path() / "fathom-flame-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  static void TearDownTestSuite() {
    browser_.reset();
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }
  void SetUp() override {
    if (find_chromium().empty()) GTEST_SKIP() << "no Chromium on this machine (apt-get install chromium)";
    ASSERT_NE(browser_, nullptr);
    ASSERT_TRUE(browser_->run_scripts(true).has_value());
    ASSERT_TRUE(browser_->prefer_dark(false).has_value());
    ASSERT_TRUE(browser_->resize(1200, 500).has_value());
  }
  void TearDown() override {
    if (!browser_) return;
    EXPECT_THAT(browser_->take_complaints(), IsEmpty());
    if (const char* folder = std::getenv("FATHOM_SCREENSHOTS")) {
      const std::string name = testing::UnitTest::GetInstance()->current_test_info()->name();
      EXPECT_TRUE(browser_->screenshot(std::string(folder) + "/" + name + ".png").has_value());
    }
  }

  void show(const std::string& svg, const std::string& fragment = "") {
    const std::string path = folder_ + "/graph" + std::to_string(++files_) + ".svg";
    ASSERT_TRUE(write_file(path, svg).has_value());
    const auto opened = browser_->open("file://" + path + fragment);
    ASSERT_TRUE(opened.has_value()) << opened.error().message;
  }
  void show_stacks(const std::string& fragment = "") {
    FlameGraphOptions options;
    options.min_width.value = 3;
    show(present::flame_graph_svg(present::tree_of(kStacks), options), fragment);
  }

  Json ask(const std::string& expression) {
    auto value = browser_->evaluate(expression);
    if (!value) {
      ADD_FAILURE() << expression << ": " << value.error().message;
      return {};
    }
    return *value;
  }
  std::string text(const std::string& selector) {
    const Json value = ask("document.querySelector('" + selector + "')?.textContent ?? 'nothing there'");
    return value.is_string() ? value.get<std::string>() : value.dump();
  }
  std::string fragment() { return ask("location.hash").get<std::string>(); }
  // Waits until the expression is true: keys and history work on their own time.
  void wait_for(const std::string& expression) {
    const Json done =
        ask("new Promise((done) => { const from = Date.now(); const look = () => (" + expression +
            ") ? done(true) : Date.now() - from > 25000 ? done(false) : setTimeout(look, 10); look(); })");
    EXPECT_EQ(done, true) << expression << " did not come true; fragment " << fragment();
  }
  void press(const std::string& key, bool control = false) {
    ASSERT_TRUE(browser_->press({key, control}).has_value());
  }
  // The middle of the frame whose label begins like this.
  std::pair<double, double> place_of(const std::string& label) {
    const Json box =
        ask("(() => { const found = [...document.querySelectorAll('.f text')].find((t) => "
            "t.textContent.startsWith('" +
            label +
            "')); const at = found?.getBoundingClientRect(); return at ? [at.x + 2, at.y + at.height / 2] : "
            "null; })()");
    if (box.is_null()) {
      ADD_FAILURE() << "no frame is labelled " << label;
      return {0, 0};
    }
    return {box[0], box[1]};
  }
  void click(const std::string& label) {
    const auto [x, y] = place_of(label);
    ASSERT_TRUE(browser_->click(x, y).has_value());
  }
  void search(const std::string& pattern) {
    press("f", true);
    wait_for("document.activeElement.localName === 'input'");
    ASSERT_TRUE(browser_->type(pattern).has_value());
    wait_for("location.hash.includes('s=')");
  }

  static inline std::unique_ptr<Chromium> browser_;
  static inline std::string folder_;
  static inline int files_ = 0;
};

TEST_F(FlameGraphInBrowser, PointingAtAFrameSaysItsNumbers) {
  show_stacks();
  EXPECT_THAT(text(".details"), StartsWith("Point at a frame"));
  const auto [x, y] = place_of("store::find(int)");
  ASSERT_TRUE(browser_->point_at(x, y).has_value());
  EXPECT_EQ(text(".details"),
            "40.0 % ±3.0 of all · total 400 samples · self 100 samples (10.0 %) — Function: store::find(int) "
            "[app]");
}

TEST_F(FlameGraphInBrowser, PointingAtAFrameOfASampledHeapSaysNoMoreDigitsThanAreKnown) {
  for (const auto& [samples, load, parse] :
       {std::tuple(100.0, "total 60 MiB · self 60 MiB (61.2 %)", "total 40 MiB · self 40 MiB (38.8 %)"),
        std::tuple(analysis::kExact, "total 58.4 MiB · self 58.4 MiB", "total 37.0 MiB · self 37.0 MiB")}) {
    analysis::CallTree tree = present::tree_of({{"t;main;load", 61'234'567}, {"t;main;parse", 38'765'433}});
    tree.metric = model::Metric::kHeapLive;
    tree.unit = "bytes";
    tree.effective_samples = samples;
    show(present::flame_graph_svg(tree, {}));
    for (const auto& [label, numbers] : {std::pair("load", load), std::pair("parse", parse)}) {
      const auto [x, y] = place_of(label);
      ASSERT_TRUE(browser_->point_at(x, y).has_value());
      EXPECT_THAT(text(".details"), HasSubstr(numbers));
    }
  }
}

TEST_F(FlameGraphInBrowser, AComparisonSaysBothSidesAndWhatIsGone) {
  ASSERT_TRUE(browser_->resize(1200, 900).has_value());  // all rows clear of the head
  const model::Profile base = analysis::side_of_change(false), fresh = analysis::side_of_change(true);
  show(present::diff_flame_graph_svg(analysis::compare_sides(base, fresh), present::DiffWidth::kBoth, {}));
  const auto details_of = [&](const std::string& label) {
    const auto [x, y] = place_of(label);
    EXPECT_TRUE(browser_->point_at(x, y).has_value());
    return text(".details");
  };
  EXPECT_EQ(details_of("− …copy"), "base 10.0 %, new 0.0 %: gone — Function: Trie::copy [server-1]");
  EXPECT_EQ(details_of("+ …rehash"), "base 0.0 %, new 10.0 %: new — Function: Trie::rehash [server-1]");
  EXPECT_THAT(details_of("Trie::root"),
              StartsWith("base 10.0 %, new 40.0 %: +300.0 % — Function: Trie::root"));
  // A grey frame has numbers that differ: its details say why it is grey.
  model::Profile nearly = analysis::side_of_change(false);
  nearly.samples.insert(nearly.samples.end(), 12, model::Sample(nearly.samples.front()));
  show(present::diff_flame_graph_svg(analysis::compare_sides(base, nearly), present::DiffWidth::kBoth, {}));
  EXPECT_THAT(details_of("Server::serve<alloc::string::String>"),
              HasSubstr(" %, no more than noise — Function: Server::serve"));
  // The labels of the file and those of the script are the same here, too.
  present::FlameGraphOptions fixed;
  fixed.width = 1200;
  const std::string svg =
      present::diff_flame_graph_svg(analysis::compare_sides(base, fresh), present::DiffWidth::kBoth, fixed);
  const std::string labels =
      "JSON.stringify([...document.querySelectorAll('.f text')].map((t) => t.textContent).sort())";
  ASSERT_TRUE(browser_->run_scripts(false).has_value());
  show(svg);
  const Json drawn = ask(labels);
  ASSERT_TRUE(browser_->run_scripts(true).has_value());
  show(svg);
  EXPECT_EQ(ask(labels), drawn);
  search("Trie");
  wait_for("document.querySelector('.found').textContent.includes('Matched: ')");
  click("Trie::root");
  wait_for("location.hash.includes('z=')");
}

TEST_F(FlameGraphInBrowser, PointingAtAWaitSaysWhoWokeIt) {
  const analysis::CallTree tree = present::tree_of({{"t;main;get", 40}, {"t;main;idle", 60}});
  FlameGraphOptions options;
  options.wakers.resize(tree.nodes.size());
  for (std::size_t i = 0; i < tree.nodes.size(); ++i)
    if (tree.name(tree.nodes[i]) == "get") options.wakers[i] = "woken by writer in Log::sync";
  show(present::flame_graph_svg(tree, options));
  for (const auto& [label, woken] : {std::pair("get", true), std::pair("idle", false)}) {
    const auto [x, y] = place_of(label);
    ASSERT_TRUE(browser_->point_at(x, y).has_value());
    wait_for(std::string("document.querySelector('.details').textContent.includes('Function: ") + label +
             "')");
    EXPECT_EQ(text(".details").find(" · woken by writer in Log::sync — Function: get") != std::string::npos,
              woken);
  }
}

// A name of three hundred characters was cut at the end of the line, and its end distinguishes functions.
TEST_F(FlameGraphInBrowser, ALongNameStandsWholeInTwoLines) {
  std::string type = "std::pair<int, long>";
  for (int i = 0; i < 9; ++i) type = "store::Table<" + type + ", store::Key>";
  const std::string name = "store::Index<" + type + ">::find_exact_match(int)";
  ASSERT_GT(name.size(), 250u);
  show(present::flame_graph_svg(present::tree_of({{"server;main;" + name, 10}}), {}));
  const auto [x, y] = place_of("store::Index");
  ASSERT_TRUE(browser_->point_at(x, y).has_value());
  EXPECT_THAT(text(".details"), HasSubstr("Function: " + name + " [app]"));
  EXPECT_EQ(ask("document.querySelectorAll('.details tspan').length"), 2);
  EXPECT_EQ(
      ask("[...document.querySelectorAll('.details tspan')].every((line) => line.getComputedTextLength() <= "
          "document.documentElement.clientWidth - 24)"),
      true);
}

TEST_F(FlameGraphInBrowser, AClickZoomsAndTheHistoryGoesBackAndForward) {
  show_stacks();
  const double before = ask("document.querySelectorAll('.f text').length");
  click("store::find_all");
  wait_for("location.hash.startsWith('#z=')");
  const std::string zoomed = fragment();
  EXPECT_THAT(text(".details"), HasSubstr("100.0 % of zoom"));
  EXPECT_EQ(
      ask("[...document.querySelectorAll('.f text')].some((t) => t.textContent.startsWith('Find_other'))"),
      false);
  click("memcmp");
  wait_for("location.hash !== '" + zoomed + "'");
  EXPECT_THAT(text(".details"), StartsWith("30.0 % ±2.8 of all · 100.0 % of zoom"));
  ask("history.back()");
  wait_for("location.hash === '" + zoomed +
           "' && document.querySelector('.details').textContent.includes('find_all')");
  ask("history.back()");
  wait_for("document.querySelectorAll('.f text').length === " + std::to_string(static_cast<int>(before)));
  ask("history.forward()");
  wait_for("location.hash === '" + zoomed +
           "' && document.querySelector('.details').textContent.includes('find_all')");
  press("Escape");
  wait_for("location.hash.replace('#', '') === '' && document.querySelectorAll('.f text').length === " +
           std::to_string(static_cast<int>(before)));
}

TEST_F(FlameGraphInBrowser, ZoomingShowsWhatWasTooNarrow) {
  show_stacks();
  EXPECT_THAT(text(".narrow"),
              StartsWith("Too narrow to draw: 4 frames narrower than 3 pixels, joined in 1 striped box"));
  EXPECT_EQ(ask("document.querySelectorAll('.f path.z').length"), 1);
  const std::string item =
      "[...document.querySelectorAll('.item')].find((one) => one.textContent === 'too narrow to draw')";
  EXPECT_EQ(ask(item + ".hasAttribute('display')"), false);
  search("rare_two");
  press("Enter");
  wait_for("location.hash.includes('z=')");
  EXPECT_THAT(text(".details"), HasSubstr("Function: rare_two"));
  place_of("find_in_rare");
  EXPECT_EQ(ask(item + ".getAttribute('display')"), "none") << "nothing is too narrow here";
}

TEST_F(FlameGraphInBrowser, ASearchCountsEachSampleOnceAlsoInHiddenFrames) {
  show_stacks();
  search("find");
  // find in find_all counts once; Find_other without case; find_in_rare although it is not drawn.
  EXPECT_EQ(text(".found"), "Matched: 60.1 % of all (4 frames)");
  EXPECT_EQ(ask("document.querySelectorAll('.f path.hit.part').length"), 1)
      << "the grey box holds a match and shows it";
  press("i", true);
  wait_for("location.hash.includes('c=1')");
  EXPECT_EQ(text(".found"), "Matched: 40.1 % of all (3 frames)");
  press("Enter");  // to the largest match; then the keys are commands
  EXPECT_THAT(text(".details"), HasSubstr("Function: store::find_all(int)"));
  press("n");
  EXPECT_THAT(text(".details"), HasSubstr("Function: store::find(int)"));
  press("N");
  EXPECT_THAT(text(".details"), HasSubstr("Function: store::find_all(int)"));
  click("run");
  wait_for("location.hash.includes('z=')");
  click("store::find_all");
  wait_for("document.querySelector('.found').textContent.includes('of zoom')");
  EXPECT_EQ(text(".found"), "Matched: 40.1 % of all, 100.0 % of zoom (3 frames)");
}

TEST_F(FlameGraphInBrowser, AnInvalidPatternIsReported) {
  show_stacks();
  search("find(");
  EXPECT_EQ(text(".found"), "Not a pattern: find(");
  press("Escape");
  wait_for("!location.hash.includes('s=')");
  EXPECT_EQ(text(".found"), "");
}

TEST_F(FlameGraphInBrowser, TheKeyboardWalksZoomsAndHelps) {
  show_stacks();
  press("ArrowUp");  // shows where it is: the root
  EXPECT_EQ(ask("document.querySelectorAll('.ring').length"), 1);
  for (int i = 0; i < 4; ++i) press("ArrowUp");
  EXPECT_THAT(text(".details"), HasSubstr("Function: store::find_all(int)")) << "always the largest callee";
  press("ArrowLeft");
  EXPECT_THAT(text(".details"), HasSubstr("Function: net::Server::read_some()"));
  press("ArrowRight");
  press("ArrowDown");
  EXPECT_THAT(text(".details"), HasSubstr("Function: run [app]"));
  press("ArrowUp");
  press("Enter");
  wait_for("location.hash.startsWith('#z=')");
  press("Backspace");
  wait_for("document.querySelector('.details').textContent.includes('Function: run ')");
  press("?");
  EXPECT_THAT(text(".help"), HasSubstr("regular expression"));
  press("Escape");
  EXPECT_EQ(text(".help"), "nothing there");
  EXPECT_THAT(fragment(), StartsWith("#z=")) << "Esc closed the help and nothing else";
}

TEST_F(FlameGraphInBrowser, AnAddressRestoresZoomAndSearch) {
  show_stacks("#z=4&s=find&c=1");
  EXPECT_THAT(text(".found"), HasSubstr("of zoom"));
  EXPECT_EQ(ask("document.querySelector('.bar input').value"), "find");
  for (const char* odd : {"#z=999999", "#z=-1", "#z=1.5", "#z=x&s=%", "#s=%F0%80", "#other"}) {
    show_stacks(odd);
    EXPECT_GT(ask("document.querySelectorAll('.f text').length"), 3) << odd;
  }
}

TEST_F(FlameGraphInBrowser, TheLegendIsolatesItsFrames) {
  show_stacks();
  EXPECT_EQ(ask("document.querySelectorAll('.f path.dim').length"), 0);
  ask("[...document.querySelectorAll('.item')].find((i) => "
      "i.textContent.startsWith('kernel')).dispatchEvent(new MouseEvent('click'))");
  EXPECT_GT(ask("document.querySelectorAll('.f path.dim').length"), 3);
  EXPECT_EQ(
      ask("[...document.querySelectorAll('.f path')].filter((p) => !p.classList.contains('dim')).length"), 1);
  press("Escape");
  EXPECT_EQ(ask("document.querySelectorAll('.f path.dim').length"), 0);
}

TEST_F(FlameGraphInBrowser, DarkReadersGetADarkPicture) {
  ASSERT_TRUE(browser_->prefer_dark(true).has_value());
  show_stacks();
  EXPECT_EQ(ask("getComputedStyle(document.querySelector('.bg')).fill"), "rgb(21, 24, 28)");
  EXPECT_EQ(ask("getComputedStyle(document.querySelector('.f text')).fill"), "rgb(244, 245, 247)");
}

// It was 640 pixels wide at least, with the search over the title, and notes as long as those of a desk's window.
TEST_F(FlameGraphInBrowser, FitsAPhone) {
  ASSERT_TRUE(browser_->resize(390, 800).has_value());
  FlameGraphOptions options;
  options.title = "CPU: a-server-with-a-long-name --and=options (pid 4711)";
  options.warnings = {
      "A warning that is longer than a phone is wide, so that it stands in lines of its own there."};
  options.notes = {"Quality: 1,000 of 1,000 expected samples; 0 samples lost; 100.0 % of stacks complete."};
  const std::string name =
      "store::Index<store::Table<std::pair<int, long>, store::Key>>::find_exact_match(int)";
  show(present::flame_graph_svg(present::tree_of({{"server;main;" + name, 600}, {"server;main;other", 400}}),
                                options));
  EXPECT_EQ(ask("document.documentElement.scrollWidth <= 390"), true);
  EXPECT_EQ(ask("[...document.querySelectorAll('text, .bar')].filter((text) => "
                "text.getBoundingClientRect().right > 390).map((text) => text.textContent).join('|')"),
            "");
  EXPECT_EQ(
      ask("(() => { const bar = document.querySelector('.bar').getBoundingClientRect(); return "
          "[...document.querySelectorAll('.head text')].filter((text) => { const at = "
          "text.getBoundingClientRect(); return at.width && at.bottom > bar.top + 4 && at.top < bar.bottom; "
          "}).map((text) => text.textContent).join('|'); })()"),
      "");
  click("store::Index");
  wait_for("location.hash.startsWith('#z=')");
  EXPECT_THAT(text(".details"), HasSubstr(name));
}

// Greys alone are impossible to distinguish.
TEST_F(FlameGraphInBrowser, WhatHasNoNameIsHatchedAndWhatIsTooNarrowDashed) {
  FlameGraphOptions options;
  options.min_width.value = 3;
  for (const bool dark : {false, true}) {
    ASSERT_TRUE(browser_->prefer_dark(dark).has_value());
    show(present::flame_graph_svg(present::tree_of({{"t;main;app@fde+0x1c20", 900},
                                                    {"t;main;memcpy[libc.so.6]", 98},
                                                    {"t;main;rare_one", 1},
                                                    {"t;main;rare_two", 1}}),
                                  options));
    const auto style_of = [&](const std::string& kind, const std::string& key) {
      return ask("getComputedStyle(document.querySelector('.f path." + kind + "'))." + key)
          .get<std::string>();
    };
    EXPECT_THAT(style_of("u0", "stroke"), HasSubstr("#fathom-hatch"));
    EXPECT_EQ(style_of("z", "strokeDasharray"), "2px, 1px");
    EXPECT_EQ(ask("document.querySelector('.f path.z, .f path.u0') !== null"), true);
    EXPECT_THAT(text(".foot"), HasSubstr("no name (stripped, or unknown code) 90.0 %"));
    EXPECT_EQ(ask("getComputedStyle(document.querySelector('[class^=r]')).strokeDasharray"), "none");
  }
}

TEST_F(FlameGraphInBrowser, ThePictureIsCompleteWithoutScripts) {
  ASSERT_TRUE(browser_->run_scripts(false).has_value());
  show_stacks();
  EXPECT_EQ(ask("document.querySelectorAll('.bar').length"), 0) << "no buttons that do nothing";
  EXPECT_GT(ask("document.querySelectorAll('.f text').length"), 8);
  EXPECT_GT(ask("document.querySelectorAll('.f title').length"), 8);
  EXPECT_GE(ask("document.querySelectorAll('.item').length"), 2);
}

TEST_F(FlameGraphInBrowser, TheRootIsOnTopWhenInverted) {
  FlameGraphOptions options;
  options.inverted = true;
  show(present::flame_graph_svg(present::tree_of(kStacks), options));
  EXPECT_LT(place_of("all").second, place_of("run").second);
  press("ArrowDown");
  press("ArrowDown");
  EXPECT_THAT(text(".details"), HasSubstr("Thread: worker"));
}

TEST_F(FlameGraphInBrowser, ADeepStackStartsAtItsRootUnderAHeadThatStays) {
  std::string deep = "worker";
  for (int i = 0; i < 1023; ++i) deep += ";frame_" + std::to_string(i);
  show(present::flame_graph_svg(present::tree_of({{deep, 1000}}), {}));
  EXPECT_GT(ask("scrollY"), 10'000);
  EXPECT_GE(ask("document.querySelector('.head').getBoundingClientRect().y"), 0);
  EXPECT_LT(place_of("all").second, 500);
  for (int i = 0; i < 60; ++i) press("ArrowUp");
  EXPECT_THAT(text(".details"), HasSubstr("Function: frame_57"));
  const double y = place_of("frame_57").second;
  EXPECT_GT(y, 80);
  EXPECT_LT(y, 500);
}

// The labels of the drawing and those of the script come from two implementations of one rule.
TEST_F(FlameGraphInBrowser, TheScriptDrawsTheLabelsThatTheFileHas) {
  const std::vector<std::string> names = {"reth_evm::execute::BlockExecutor<DB, Spec>::execute_block",
                                          "<alloc::vec::Vec<T> as core::iter::Extend<T>>::extend",
                                          "std::vector<int, std::allocator<int> >::push_back(int const&)",
                                          "void ns::run<char>(std::function<void (int)>)",
                                          "(anonymous namespace)::Parser::parse(int)",
                                          "ns::operator<<(std::ostream&, int)",
                                          "A::operator()(int) const",
                                          "core::ops::FnOnce::call_once{{vtable.shim}}",
                                          "größe::関数名前表::λ",
                                          "[libc.so.6+0x1234]",
                                          "<(u8, u16) as rlp::E>::encode",
                                          "<broken",
                                          "a < b && c > d",
                                          "]]>",
                                          "</title><script>alert(1)</script>",
                                          "core::ptr::drop_in_place<fn() -> u8>",
                                          "::::",
                                          "main.(*Server).Handle",
                                          "github.com/shop/web.(*T[go.shape.int]).serve.func1",
                                          "app.Shop.serve(order: Swift.Int) -> ()",
                                          "closure #1 in app.Shop.serve()",
                                          "<module> (/srv/app/x.py:3)",
                                          "shop.Cart.total (/srv/shop.py:12)",
                                          "LazyCompile:~handle order /srv/my server.js:10:20",
                                          "py::total:/srv/shop.py",
                                          "x"};
  for (const double width : {500.0, 900.0, 1700.0, 6000.0}) {
    Folded stacks;
    int weight = 100;
    for (const std::string& name : names) stacks.push_back({"t;" + name + ";" + name, weight += 17});
    FlameGraphOptions options;
    options.width = width;
    const std::string svg = present::flame_graph_svg(present::tree_of(stacks), options);
    const std::string labels =
        "JSON.stringify([...document.querySelectorAll('.f text')].map((t) => t.textContent).sort())";
    ASSERT_TRUE(browser_->run_scripts(false).has_value());
    show(svg);
    const Json drawn = ask(labels);
    ASSERT_TRUE(browser_->run_scripts(true).has_value());
    show(svg);
    EXPECT_EQ(ask(labels), drawn) << "width " << width;
  }
}

}  // namespace
}  // namespace fathom::browser
