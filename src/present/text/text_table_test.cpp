#include "present/text/text_table.h"

#include <gtest/gtest.h>

namespace fathom::present {
namespace {

TEST(ShortenName, KeepsWhatDistinguishesFunctions) {
  const std::string rust = "<server::tree::Node<alloc::string::String> as server::tree::Visit>::walk";
  EXPECT_EQ(shorten_name(rust, 200), rust);
  EXPECT_EQ(shorten_name(rust, 60), "<server::tree::Node<..> as server::tree::Visit>::walk");
  EXPECT_EQ(shorten_name(rust, 30), "<Node<..> as Visit>::walk");
  EXPECT_EQ(shorten_name(rust, 20), "Node::walk");
  EXPECT_EQ(shorten_name("ns::parse(std::string const&, int) const", 20), "ns::parse(…)");
  EXPECT_EQ(shorten_name("a::very::long::path::to::function", 20), "…::to::function");
}

TEST(ShortenName, KeepsWhoseAnOperatorOrAClosureIs) {
  const std::string matcher =
      "bool std::__detail::_AnyMatcher<std::regex_traits<char>, false>::operator()(char) const";
  EXPECT_EQ(shorten_name(matcher, 26), "…_AnyMatcher::operator()");
  EXPECT_EQ(shorten_name("anvil::eth::api::EthApi::call::{{closure}}", 16), "call::{…}");
  EXPECT_EQ(shorten_name("anvil::eth::api::call_many::{{closure}}", 16), "call_many::{…}");
  EXPECT_EQ(shorten_name("woken by backend::do_mine_block::{{closure}}", 32), "woken by do_mine_block::{…}");
}

TEST(ShortenName, TakesNoWordsForAType) {
  EXPECT_EQ(shorten_name("inode 10994266 of device 254:0", 14), "inode 109…54:0");
  EXPECT_EQ(shorten_name("(woken by backend::do_mine_block::{{closure}})", 16), "do_mine_block");
}

TEST(TextTable, NamesOfSeveralColumnsGiveWayTheWidestFirst) {
  TextTable table({{"time", Align::kRight}, {"in", Align::kLeft, true}, {"by", Align::kLeft, true}});
  table.add({"1.22 s", "server::tree::Node::find_or_insert", "worker"});
  EXPECT_EQ(table.text(40, false),
            "    time  in                      by\n  1.22 s  Node::find_or_insert    worker\n");
  EXPECT_EQ(table.text(0, false),
            "    time  in                                  by\n  1.22 s  server::tree::Node::find_or_insert  "
            "worker\n");
}

TEST(ShortenName, NeverLosesTheFunction) {
  const std::string regex =
      "void std::__cxx11::basic_regex<char, std::regex_traits<char> >::_M_compile(char const*, char const*, "
      "std::regex_constants::syntax_option_type) (inlined)";
  for (std::size_t width = 16; width < 120; ++width) {
    EXPECT_NE(shorten_name(regex, width).find("_M_compile"), std::string::npos)
        << width << shorten_name(regex, width);
    EXPECT_NE(shorten_name("anvil::eth::api::EthApi::execute::{{closure}}", width).find("execute"),
              std::string::npos)
        << width;
  }
  EXPECT_EQ(shorten_name("a_very_long_function_name_without_any_parts(int)", 20), "a_very_long_f…_parts");
}

TEST(ShortenName, NeverExceedsTheWidthAndNeverSplitsACharacter) {
  for (std::size_t width = 0; width < 30; ++width) {
    for (const char* name :
         {"größenänderungsverfahren_für_alles", "f(g(h(i(j)))))))))",
          "a::(anonymous namespace)::bbbbbbbbbbbbbbbbbb",
          "::::::::::::::::::::::::::::::::::::", "<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<"}) {
      const std::string shorter = shorten_name(name, width);
      EXPECT_LE(display_width(shorter), width) << name;
      if (!shorter.empty()) {
        EXPECT_NE(static_cast<unsigned char>(shorter[0]) & 0xC0, 0x80) << name;
      }
    }
  }
}

TEST(TextTable, CountsColumnsAsATerminalDoes) {
  EXPECT_EQ(display_width("größe"), 5u);
  EXPECT_EQ(display_width("e\u0301"), 1u) << "a letter and its accent";
  EXPECT_EQ(display_width("区块"), 4u) << "wide characters";
  EXPECT_EQ(display_width("\xff\xfe"), 2u) << "no UTF-8: a column for each byte";
}

TEST(TextTable, AlignsNumbersAndShortensOnlyTheName) {
  TextTable table({{"%", Align::kRight}, {"function", Align::kLeft, true}, {"module"}});
  table.add({"1.0", "a::very::long::path::of::modules::to::function", "app"});
  table.add({"10.0", "größe", "lib"});
  EXPECT_EQ(table.text(40, false),
            "     %  function                  module\n"
            "   1.0  …::modules::to::function  app\n"
            "  10.0  größe                     lib\n");
  EXPECT_NE(table.text(0, false).find("a::very::long::path::of::modules::to::function"), std::string::npos);
}

TEST(TextTable, WithoutColorThereAreNoEscapes) {
  TextTable table({{"a"}});
  table.add({"x"}, true);
  EXPECT_EQ(table.text(80, false).find('\x1b'), std::string::npos);
  EXPECT_NE(table.text(80, true).find('\x1b'), std::string::npos);
}

TEST(Fill, BreaksAtSpacesAndIndents) {
  EXPECT_EQ(fill("", "about 25 % of it", 9, 2), "about\n  25 % of\n  it\n");
  EXPECT_EQ(fill("", "25 %", 3, 2), "25 %\n");
  EXPECT_EQ(fill("", "one two three four", 9, 2), "one two\n  three\n  four\n");
  EXPECT_EQ(fill("", "unbreakable", 3, 2), "unbreakable\n");
  EXPECT_EQ(fill("", "as long as it is", 0, 2), "as long as it is\n");
}

}  // namespace
}  // namespace fathom::present
