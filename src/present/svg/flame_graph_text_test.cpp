#include "present/svg/flame_graph_text.h"

#include <sstream>
#include <string>

#include <gtest/gtest.h>
#include "base/files.h"

namespace fathom::present {
namespace {

TEST(FlameGraphText, WhatIsNoTextBecomesAReplacementCharacter) {
  EXPECT_EQ(clean_text("plain"), "plain");
  EXPECT_EQ(clean_text("größe 数 🔥"), "größe 数 🔥");
  EXPECT_EQ(clean_text("a\xFFz"), "a\uFFFDz");
  EXPECT_EQ(clean_text("a\nb\tc\x1B[0m"), "a\uFFFDb\uFFFDc\uFFFD[0m");
  EXPECT_EQ(clean_text(std::string_view("a\0b", 3)), "a\uFFFDb");
  EXPECT_EQ(clean_text("\xC0\xAF"), "\uFFFD\uFFFD") << "an overlong slash";
  EXPECT_EQ(clean_text("\xED\xA0\x80"), "\uFFFD\uFFFD\uFFFD") << "half of a surrogate pair";
  EXPECT_EQ(clean_text("\xF4\x90\x80\x80"), "\uFFFD\uFFFD\uFFFD\uFFFD") << "above U+10FFFF";
  EXPECT_EQ(clean_text("\xEF\xBF\xBE"), "\uFFFD") << "a noncharacter, which XML forbids";
  EXPECT_EQ(clean_text("\u202Eevil"), "\uFFFDevil") << "turns the direction of writing";
  EXPECT_EQ(clean_text("cut\xE6\x95"), "cut\uFFFD\uFFFD");
}

TEST(FlameGraphText, OnlyWhatMeansSomethingToXmlIsEscaped) {
  EXPECT_EQ(escape_xml("Vec<T>::f && g"), "Vec&lt;T>::f &amp;&amp; g");
  EXPECT_EQ(escape_xml("</title><script>"), "&lt;/title>&lt;script>");
  EXPECT_EQ(escape_xml("a[b[0]]>c"), "a[b[0]]&gt;c");
  EXPECT_EQ(json_string("a\"b\\c"), "\"a\\\"b\\\\c\"");
}

TEST(FlameGraphText, AShortNameHasNoArgumentsAndNoGenerics) {
  EXPECT_EQ(short_name("main"), "main");
  EXPECT_EQ(short_name("std::vector<int, std::allocator<int> >::push_back(int const&)"),
            "std::vector::push_back");
  EXPECT_EQ(short_name("void ns::run<char>(std::function<void (int)>)"), "ns::run");
  EXPECT_EQ(short_name("(anonymous namespace)::Parser::parse()"), "Parser::parse");
  EXPECT_EQ(short_name("ns::(anonymous namespace)::f(int)"), "ns::f");
  EXPECT_EQ(short_name("a::b::operator<<(std::ostream&, int)"), "a::b::operator<<");
  EXPECT_EQ(short_name("A::operator()(int) const"), "A::operator()");
  EXPECT_EQ(short_name("operator new(unsigned long)"), "operator new");
  EXPECT_EQ(short_name("ns::operators::go(int)"), "ns::operators::go");
  EXPECT_EQ(short_name("<reth::Pool as core::iter::Iterator>::next"), "Pool::next");
  EXPECT_EQ(short_name("<alloc::vec::Vec<u8> as core::io::Write>::write_all"), "Vec::write_all");
  EXPECT_EQ(short_name("core::ops::FnOnce::call_once{{vtable.shim}}"),
            "core::ops::FnOnce::call_once{{vtable.shim}}");
  EXPECT_EQ(short_name("alloc::vec::Vec::<T>::push"), "alloc::vec::Vec::push");
  EXPECT_EQ(short_name("core::ptr::drop_in_place<fn() -> u8>"), "core::ptr::drop_in_place");
  EXPECT_EQ(short_name("[libc.so.6+0x1234]"), "[libc.so.6+0x1234]");
  EXPECT_EQ(short_name(""), "");
  EXPECT_EQ(short_name("<größé"), "<größé");
  EXPECT_EQ(short_name("<f)é"), "<f)é");
  for (const char* odd : {"<", ">", "<<<", "()", "a<b", "f(", "::", "<a as >", "operator", "{", "a b c "}) {
    EXPECT_FALSE(short_name(odd).empty()) << odd;
  }
}

// The script of the pictures labels frames again after a zoom; its test reads the same table. Languages with dots between the parts
// of their names have rules of their own: by those of C++, "main.(*Server).Handle" was "main.".
TEST(FlameGraphText, ALabelKeepsTheLastNamedPart) {
  const auto table = read_file("../../../web/test/labels.txt");
  ASSERT_TRUE(table.has_value());
  std::istringstream lines(*table);
  std::size_t rows = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('#')) continue;
    const std::size_t label = line.find('\t') + 1, name = line.find('\t', label) + 1;
    const std::size_t columns = std::stoul(line);
    EXPECT_EQ(frame_label(line.substr(name), columns), line.substr(label, name - 1 - label))
        << line.substr(name) << " in " << columns;
    ++rows;
  }
  EXPECT_GT(rows, 30u);
}

TEST(FlameGraphText, ALabelNeverNeedsMoreThanItsColumns) {
  for (const char* name :
       {"a::b::c::d", "x", "ünïcödé::größe::数字", "<T as a::b>::c", "f(int, char)", "::::", "[a+0x1]",
        "a.b(c).d(e.f) -> g", "<x", "<x.y>.z", "a.(", ".a.b.", "JS:*a b /c.js:1:2", "py:::", "a/b/c.d ( e )",
        "a::b::{{closure}}::{{closure}}", "{{closure}}", "関::{{x}}"}) {
    for (std::size_t columns = 0; columns < 40; ++columns) {
      EXPECT_LE(text_columns(frame_label(name, columns)), columns) << name;
    }
  }
}

TEST(FlameGraphText, AQuantityHasItsUnit) {
  EXPECT_EQ(quantity(1, "samples", ""), "1 sample");
  EXPECT_EQ(quantity(12345, "samples", ""), "12,345 samples");
  EXPECT_EQ(quantity(12345, "samples", "ticks"), "12,345 ticks");
  EXPECT_EQ(quantity(1'500'000'000, "ns", ""), "1.50 s");
  EXPECT_EQ(quantity(1'500'000, "bytes", ""), "1.4 MiB");
}

TEST(ShortTarget, IsTheFirstOfManyAndTheirNumber) {
  EXPECT_EQ(short_target("server (pid 12)"), "server (pid 12)");
  EXPECT_EQ(short_target("a (pid 1), b (pid 2), c (pid 3)"), "a (pid 1), b (pid 2), c (pid 3)");
  EXPECT_EQ(short_target("a (pid 1), b (pid 2), c (pid 3), d (pid 4)"), "a (pid 1) and 3 more");
  EXPECT_EQ(short_target("./run.sh one, two"), "./run.sh one, two");
}

}  // namespace
}  // namespace fathom::present
