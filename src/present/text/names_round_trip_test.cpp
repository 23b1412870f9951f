// What a view prints of a name is accepted by every option that takes a function, and finds that function.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/core/fold_generics.h"
#include "analysis/core/functions.h"
#include "analysis/core/hand_made_profile.h"
#include "analysis/core/prose_name.h"
#include "analysis/core/stack_choice.h"
#include "analysis/core/words.h"
#include "present/text/text_table.h"

namespace fathom::present {
namespace {

using namespace analysis;

// As demanglers, run times and importers write them.
const std::vector<std::string>& names() {
  static const std::vector<std::string> kNames = {
      "main",
      "parse",
      "Shop::serve(int) const",
      "shop::Table<int, std::allocator<int> >::find(int const&)",
      "shop::Table<char, std::allocator<char> >::find(char const&)",
      "shop::detail::Table<int>::find(int) const &",
      "void std::__cxx11::basic_regex<char, std::regex_traits<char> >::_M_compile(char const*, char const*)",
      "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > std::operator+<char, "
      "std::char_traits<char>, std::allocator<char> >(char const*)",
      "bool ns::operator< <int>(ns::X const&, ns::X const&)",
      "Pool::run(bool) const::{lambda(int)#1}::operator()(int) const",
      "Pool::run(bool) const::{lambda(int)#2}::operator()(int) const",
      "main::{lambda(std::function<void ()> const&)#2}::operator()(std::function<void ()> const&) const",
      "(anonymous namespace)::grow(int)",
      "auto parse<Reader>(Reader) requires Input<Reader>",
      "parse::.. [_Z5parseITk5Inputi6ReaderEvT_T0_]",
      "f(int) [clone .part.0]",
      "operator new(unsigned long)",
      "decltype (auto) fold<int>(int)",
      "alloc::vec::Vec<T,A>::push",
      "<alloc::vec::Vec<T,A> as core::ops::drop::Drop>::drop",
      "<&mut reth_pool::Pool<T> as reth_api::Api>::go",
      "<reth_pool::Pool<U> as reth_other::Api>::go",
      "core::ptr::drop_in_place::<alloc::collections::btree::map::BTreeMap<u64, alloc::string::String>>",
      "core::ptr::drop_in_place::<alloc::vec::Vec<u8>>",
      "anvil::eth::api::EthApi::execute::{{closure}}",
      "anvil::eth::api::EthApi::execute::{{closure}}::{{closure}}",
      "<tokio::task::Core<T> as anvil::Poll>::poll::{closure#0}",
      "anvil::backend::<impl anvil::Store for anvil::Memory>::load",
      "main.order",
      "main.order.func1",
      "main.(*Tree[...]).Insert",
      "example.com/very/long/path/to/a/package/storage.(*Engine).compactLevelIntoTheNext",
      "runtime.gcBgMarkWorker.func2",
      "main.Map[go.shape.int,go.shape.string]",
      "type:.eq.struct { F uintptr; X0 *main.T }",
      "<module> (/app/serve.py:1)",
      "<module> (/app/other.py:1)",
      "Shop.serve (/app/serve.py:33)",
      "<listcomp> (/app/serve.py:40)",
      "py::serve:/app/serve.py",
      "py::outer.<locals>.inner:/app/serve.py",
      "JS:*add /app/x.js:1:2",
      "JS:~add /app/x.js:1:2",
      "JS:* /app/x.js:7:2",
      "std.algorithm.sorting.sort!(\"a < b\", int[]).sort(int[])",
      "app.Shop.serve(request: Swift.String) -> Swift.Int",
      "closure #1 in app.Shop.serve(request: Swift.String)",
      "Ljava/util/HashMap;::putVal",
      "java.util.HashMap.putVal(int, java.lang.Object)",
      "libsqlite3.so.0.8.6@fde+0xa74f0",
      "libsqlite3.so.0.8.6@fde+0xa7500",
      "[libx.so+0x1234]",
      "__GI___libc_write",
      "__x64_sys_write",
      "asm_exc_page_fault",
      "(woken by backend::do_mine_block::{{closure}})",
      "größe::berechnen",
      "a_very_long_function_name_without_any_parts_that_a_table_has_no_room_for(int)",
  };
  return kNames;
}

// All that views make of a name: tables and trees of any width, sentences, folded generics.
std::set<std::string> printed(const std::string& name) {
  std::set<std::string> texts{name, printable(name), prose_name(name), spoken_name(name),
                              fold_generics(name)};
  for (std::size_t width = 14; width < 130; ++width)
    for (const std::string& text : {printable(name), prose_name(name), fold_generics(name)}) {
      texts.insert(shorten_name(text, width));
      texts.insert(shorten_name(text + " (inlined)", width));
    }
  return texts;
}

class NamesRoundTrip : public testing::Test {
 protected:
  NamesRoundTrip() {
    const auto app = hand_.module("app");
    const auto thread = hand_.thread(hand_.process(10, "app"), 10, "app");
    for (const std::string& name : names()) hand_.sample(thread, hand_.stack({hand_.frame(app, {name})}), 1);
    tree_ = build_call_tree(hand_.profile, {});
  }
  // --callers, --callees, --annotate
  testing::AssertionResult finds(const std::string& text, const std::string& name) const {
    const Result<Neighbours> around = find_neighbours(tree_, text);
    if (!around) return testing::AssertionFailure() << "'" << text << "': " << around.error().message;
    if (std::ranges::find(around->matched, name) == around->matched.end())
      return testing::AssertionFailure() << "'" << text << "' finds " << around->matched.front();
    return testing::AssertionSuccess();
  }
  // --focus, --ignore, --hide, --show-from
  testing::AssertionResult takes(const std::string& text, const std::string& name) const {
    const auto choice = choose_stacks(hand_.profile, {text}, {});
    if (!choice) return testing::AssertionFailure() << "'" << text << "': " << choice.error().message;
    const auto at = std::ranges::find(names(), name) - names().begin();
    const model::Sample& sample = hand_.profile.samples[static_cast<std::size_t>(at)];
    if (!(*choice)->takes((*choice)->marks[sample.stack.value]))
      return testing::AssertionFailure() << "'" << text << "' does not take " << name;
    return testing::AssertionSuccess();
  }

  HandMade hand_;
  CallTree tree_;
};

TEST_F(NamesRoundTrip, EveryPrintedNameFindsItsFunction) {
  for (const std::string& name : names())
    for (const std::string& text : printed(name)) {
      EXPECT_TRUE(finds(text, name)) << name;
      EXPECT_TRUE(takes(text, name)) << name;
    }
}

TEST_F(NamesRoundTrip, TheWholeNameFindsNoFunctionThatIsPrintedOtherwise) {
  EXPECT_THAT(find_neighbours(tree_, "shop::Table<int, std::allocator<int> >::find(int const&)")->matched,
              testing::ElementsAre("shop::Table<int, std::allocator<int> >::find(int const&)"));
  EXPECT_THAT(find_neighbours(tree_, "main")->matched, testing::ElementsAre("main"));
}

TEST_F(NamesRoundTrip, AShortNameOfSeveralFunctionsMeansAllWithANotice) {
  EXPECT_THAT(find_neighbours(tree_, "Table::find")->matched, testing::SizeIs(3));
  const auto choice = choose_stacks(hand_.profile, {"Table::find"}, {});
  ASSERT_TRUE(choice);
  EXPECT_EQ((*choice)->shared_names.at("Table::find"), 3u);
  EXPECT_TRUE((*choose_stacks(hand_.profile, {"main"}, {}))->shared_names.empty());
}

// Two rows of a table may read alike, but a name that is cut shows where.
TEST_F(NamesRoundTrip, NamesOfOtherLanguagesKeepTheirParts) {
  for (const std::string& name : names())
    if (is_dotted_name(name)) {
      EXPECT_EQ(prose_name(name), printable(name));
    }
  EXPECT_EQ(shorten_name("example.com/very/long/path/storage.(*Engine).compact", 30),
            "…/storage.(*Engine).compact");
}

}  // namespace
}  // namespace fathom::present
