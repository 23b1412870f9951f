// Two recordings as one page: each figure is what `fathom diff` prints of them, and the picture can be searched, zoomed and
// pointed at as that of one recording.
#include "analysis/diff/hand_made_sides.h"
#include "browser/page_testing.h"

namespace fathom::browser {
namespace {

using testing::HasSubstr;
using testing::Not;

// A heap in which one place asks for twice as much as before.
void add_heap(model::Profile& profile, bool after) {
  model::Heap heap;
  heap.mode = model::HeapMode::kExact;
  heap.start_ns = profile.meta.start_ns;
  heap.end_ns = profile.meta.end_ns;
  for (std::uint32_t site = 0; site < 2; ++site)
    profile.heap.sites.push_back({{0}, profile.samples[site].stack, {0}, profile.samples[0].thread, 0});
  add_heap_course(profile, heap, 20, [&](std::uint32_t, std::uint32_t site) {
    model::HeapRow row;
    row.allocated = {10, site == 0 && after ? 200'000.0 : 100'000.0};
    row.freed = {9, row.allocated.bytes * 0.9};
    return row;
  });
}

// The sides of a change, plus waits that became shorter. No two runs are the same.
model::Profile side(bool after, std::uint32_t run = 0) {
  model::Profile profile = analysis::side_of_change(after);
  for (std::uint32_t i = 0; i < 7 * run; ++i) profile.samples[i * 11 % profile.samples.size()].value += 1;
  for (std::uint32_t i = 0; i < 150; ++i) {
    model::Wait wait;
    wait.start_ns = profile.meta.start_ns + i * 130'000'000ull;
    wait.waited_ns = (after ? 20'000'000 : 60'000'000) + i % 7 * 100'000 + run * 1'234'567;
    wait.thread = profile.samples.front().thread;
    wait.stack = profile.samples[i % 5].stack;
    profile.waits.push_back(wait);
  }
  add_heap(profile, after);
  return profile;
}

constexpr const char* kSides = "server.fathom server-new.fathom";

class PageOfTwo : public PageTest {
 protected:
  static void SetUpTestSuite() {
    set_up(side(false));
    if (folder_.empty()) return;
    ASSERT_TRUE(store::Writer::create(fresh()).value().finish(side(true)));
    ASSERT_EQ(ended(start_program({"view", recording(), fresh(), "--html", folder_ + "/page.html", "--force"},
                                  folder_ + "/out")),
              0)
        << read_file(folder_ + "/out.error").value_or("");
  }
  static std::string fresh() { return folder_ + "/server-new.fathom"; }

  void expect_near(const Json& shown, const Json& expected) {
    EXPECT_EQ(shown["base"], expected["base"]);
    EXPECT_EQ(shown["fresh"], expected["new"]);
    EXPECT_EQ(shown["change"], expected["change"]);
    EXPECT_EQ(shown["error"], expected["error"]);
    EXPECT_EQ(shown["lookedAt"], expected["looked_at"]);
    EXPECT_EQ(shown["beyondNoise"], expected["beyond_noise"]);
  }
  void expect_as_compared(const std::string& metric, const std::string& sides) {
    const Json page = ask("window.fathom.compared()");
    ASSERT_TRUE(page.is_object());
    ASSERT_EQ(page["command"], "fathom diff " + sides + " --metric " + metric);
    std::vector<std::string> words = words_of(page["command"]);
    SCOPED_TRACE(page["command"].get<std::string>());
    words.erase(words.begin());
    for (std::string& word : words)
      if (word.ends_with(".fathom")) word = folder_ + "/" + word;
    words.push_back("--json");
    ASSERT_EQ(ended(start_program(words, folder_ + "/diff.json")), 0);
    const Json written = Json::parse(read_file(folder_ + "/diff.json").value_or(""), nullptr, false);
    ASSERT_FALSE(written.is_discarded());
    const Json& diff = written["metrics"][0];
    EXPECT_EQ(text("#compared b"), analysis::printable(diff["summary"].get<std::string>()));
    expect_near(page["whole"], diff["whole"]);
    EXPECT_EQ(page["looked_at"], diff["looked_at"]);
    std::map<std::pair<std::string, std::string>, const Json*> shown;
    for (const Json& row : page["functions"])
      shown[{row["name"].get<std::string>(), row["module"].get<std::string>()}] = &row;
    for (const Json& row : diff["functions"]) {
      const auto name = std::pair(analysis::printable(row["name"].get<std::string>()),
                                  analysis::printable(row["module"].get<std::string>()));
      SCOPED_TRACE(name.first);
      ASSERT_TRUE(shown.contains(name));
      expect_near((*shown[name])["self"], row["self"]);
      expect_near((*shown[name])["total"], row["total"]);
    }
    EXPECT_GT(diff["functions"].size(), 1u);
    // The boxes are as wide as both sides together, and those below a call are worth what it is.
    const Json tree = ask("window.fathom.tree()");
    const double whole = page["whole"]["base"].get<double>() + page["whole"]["fresh"].get<double>();
    const double rounded = sides.starts_with("--base") ? 1e-5 : 1e-9;  // of several runs it has the mean
    EXPECT_NEAR(tree["total"][0].get<double>(), whole, rounded * whole);
    double self = 0;
    for (const Json& value : tree["self"]) self += value.get<double>();
    EXPECT_NEAR(self, whole, rounded * whole);
  }
};

TEST_F(PageOfTwo, ItsCommandTakesNamesFromTheSameFolder) {
  const std::string page = folder_ + "/named.html", symbols = folder_ + "/debug files";
  std::filesystem::create_directory(symbols);
  ASSERT_EQ(ended(start_program({"view", recording(), fresh(), "--symbols", symbols, "--html", page},
                                folder_ + "/out")),
            0)
      << read_file(folder_ + "/out.error").value_or("");
  ASSERT_TRUE(browser_->open("file://" + page + "#m=cpu").has_value());
  wait_for("window.fathom");
  EXPECT_EQ(ask("window.fathom.compared().command"),
            "fathom diff " + std::string(kSides) + " --symbols 'debug files' --metric cpu");
}

TEST_F(PageOfTwo, FiguresAreThoseOfTheDiff) {
  show();
  EXPECT_EQ(text("h1"), "server.fathom → server-new.fathom");
  EXPECT_EQ(ask("document.querySelector('.chart')"), Json());
  for (const char* metric :
       {"cpu", "off-cpu", "heap-live", "heap-allocated", "heap-allocations", "heap-growth"}) {
    show(std::string("#m=") + metric);
    wait_for("document.querySelector('#compared')");
    expect_as_compared(metric, kSides);
  }
  for (const char* shape : {"i=1", "i=1&threads=0"}) {
    show(std::string("#m=off-cpu&") + shape);
    wait_for("document.querySelector('#compared')");
    expect_as_compared("off-cpu", kSides);
  }
}

TEST_F(PageOfTwo, SaysWhatIsNewAndWhatIsGone) {
  show("#m=cpu&v=top");
  wait_for("document.querySelector('#top')");
  EXPECT_THAT(text("#top"), HasSubstr("Trie::rehash"));
  EXPECT_THAT(text("#top"), HasSubstr("new"));
  EXPECT_THAT(text("#top"), HasSubstr("memcpy"));
  EXPECT_THAT(text("#top"), HasSubstr("gone"));
  EXPECT_THAT(text("#top"), Not(HasSubstr("Server::serve<")));  // no more than noise
  show("#m=cpu&v=threads");
  EXPECT_THAT(text("table"), HasSubstr("worker-#"));
  show("#m=cpu&v=quality");
  EXPECT_THAT(text(".prose"), Not(HasSubstr("slices")));
  // Views of one time, and a second time, are not to be had.
  show("#m=cpu&v=heap&t=0-1&b=1-2");
  wait_for("document.querySelector('.flame canvas')");
  EXPECT_EQ(ask("document.querySelectorAll('nav [role=tab]').length"), 6);
  press("6");
  press("b");
  EXPECT_EQ(ask("window.fathom.view.value.tab"), "flame");
  EXPECT_EQ(ask("window.fathom.view.value.range"), Json::array({1, 2}));
}

TEST_F(PageOfTwo, IsSearchedZoomedAndPointedAt) {
  show("#m=cpu&threads=0");
  press("/");
  wait_for("document.activeElement.id === 'search'");
  ASSERT_TRUE(browser_->type("rehash").has_value());
  wait_for("document.querySelector('.found')?.textContent.startsWith('1 box')");
  press("ArrowDown");
  wait_for("document.querySelector('.crumbs')?.textContent.includes('Trie::rehash')");
  press("Escape");
  ask("(() => { const canvas = document.querySelector('.flame canvas'), b = canvas.getBoundingClientRect(); "
      "canvas.dispatchEvent(new MouseEvent('mousemove', { bubbles: true, clientX: b.x + b.width / 2, "
      "clientY: "
      "b.y + 4.5 * 19 })); })()");  // below all, main, serve and root
  wait_for("document.querySelector('.tip')?.textContent.includes('Trie::rehash')");
  EXPECT_THAT(text(".tip"), HasSubstr("(new) here"));
  EXPECT_THAT(text(".tip"), HasSubstr("everywhere 0.0 %"));
  EXPECT_THAT(text("aside"), HasSubstr("Trie::rehash"));
  // What is new has the darkest orange, once the colour of what is searched for is gone.
  wait_for(
      "(() => { const c = document.querySelector('.flame canvas'), r = c.width / "
      "c.getBoundingClientRect().width, copy = document.createElement('canvas').getContext('2d'); "
      "copy.drawImage(c, 12 * r - c.width, -Math.round((4 * 19 + 4) * r)); "
      "return [...copy.getImageData(0, 0, 1, 1).data].join(); })() === '222,110,20,255'");
  press("Escape");
  wait_for("!document.querySelector('.crumbs')?.textContent.includes('rehash')");
  ask("window.fathom.change({ widths: 'new' })");
  wait_for("location.hash.includes('w=new')");
  const Json tree = ask("window.fathom.tree().total[0]"), whole = ask("window.fathom.compared().whole.fresh");
  EXPECT_NEAR(tree.get<double>(), whole.get<double>(), 1e-9);
  ask("window.fathom.change({ focus: ['Trie::copy'] })");
  wait_for("document.querySelector('#compared').textContent.includes('chosen stacks alone')");
  EXPECT_EQ(ask("window.fathom.tree().total[0]"), 0);  // gone
}

// Four runs of base, three of new.
class PageOfRuns : public PageOfTwo {
 protected:
  static void SetUpTestSuite() {
    set_up(side(false));
    if (folder_.empty()) return;
    std::vector<std::string> words{"view", "--html", folder_ + "/page.html", "--force", "--base"};
    for (std::uint32_t run = 0; run < 7; ++run) {
      if (run == 4) words.emplace_back("--new");
      words.push_back(folder_ + "/run-" + std::to_string(run) + ".fathom");
      ASSERT_TRUE(store::Writer::create(words.back()).value().finish(side(run >= 4, run)));
    }
    ASSERT_EQ(ended(start_program(words, folder_ + "/out")), 0)
        << read_file(folder_ + "/out.error").value_or("");
  }
};

TEST_F(PageOfRuns, FiguresAreThoseOfTheDiffOfAllRuns) {
  show();
  EXPECT_EQ(text("h1"), "run-0.fathom and 3 more → run-4.fathom and 2 more");
  for (const char* metric :
       {"cpu", "off-cpu", "heap-live", "heap-allocated", "heap-allocations", "heap-growth"}) {
    show(std::string("#m=") + metric);
    wait_for("document.querySelector('#compared')");
    expect_as_compared(metric,
                       "--base run-0.fathom run-1.fathom run-2.fathom run-3.fathom --new run-4.fathom "
                       "run-5.fathom run-6.fathom");
  }
}

}  // namespace
}  // namespace fathom::browser
