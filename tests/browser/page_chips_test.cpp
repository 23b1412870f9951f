// What the page of `fathom view` is narrowed by, as chips: modules, crates, causes, sizes, functions that are hidden.
#include "browser/page_of_a_server.h"

namespace fathom::browser {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

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
  // By typing; text that is not a size gives a message, and nothing changes.
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
  // If there are two starts, the last one counts.
  show("#m=cpu&threads=0&x=from:main&x=from:serve");
  EXPECT_EQ(ask(rows), Json({"Server::serve(int) 0 60", "Server::serve(int) 300 550", "all 0 550",
                             "json::parse<std::string, 12> 190 190", "json::parse<std::string, 12> 60 60"}));
}

}  // namespace
}  // namespace fathom::browser
