#include "analysis/core/prose_name.h"

#include <gtest/gtest.h>

#include "analysis/core/generated_name.h"

namespace fathom::analysis {
namespace {

TEST(ProseName, IsTheFunctionAndWhatItBelongsTo) {
  EXPECT_EQ(prose_name("LogParser::parse_line(std::__cxx11::basic_string<char> const&)"),
            "LogParser::parse_line");
  EXPECT_EQ(
      prose_name("void std::__cxx11::basic_regex<char, std::regex_traits<char> >::_M_compile(char const*, "
                 "std::regex_constants::syntax_option_type) (inlined)"),
      "basic_regex::_M_compile");
  EXPECT_EQ(prose_name("a::b::c::d"), "c::d");
  EXPECT_EQ(prose_name("main"), "main");
  EXPECT_EQ(prose_name("(anonymous namespace)::go()"), "go");
}

TEST(ProseName, OfRustIsTheTypeAndItsMethod) {
  EXPECT_EQ(prose_name("<reth_pool::Pool<T> as reth_api::Api>::go"), "Pool::go");
  EXPECT_EQ(prose_name("<&mut reth_pool::Pool as reth_api::Api>::go"), "Pool::go");
  EXPECT_EQ(prose_name("alloc::vec::Vec<T,A>::push"), "Vec::push");
  EXPECT_EQ(prose_name("core::ptr::drop_in_place::<alloc::string::String>"), "ptr::drop_in_place");
}

TEST(ProseName, AClosureKeepsItsFunction) {
  EXPECT_EQ(prose_name("anvil::eth::api::EthApi::execute::{{closure}}"), "EthApi::execute::{{closure}}");
  EXPECT_EQ(prose_name("Pool::run(bool) const::{lambda(int)#1}::operator()(int) const"),
            "Pool::run::{lambda}");
  EXPECT_EQ(
      prose_name(
          "main::{lambda(std::function<void ()> const&)#2}::operator()(std::function<void ()> const&) const"),
      "main::{lambda#2}");
  EXPECT_EQ(prose_name("Pool::run(bool)::{lambda(auto:1)#1}::operator()<int>(int) "
                       "const::{lambda()#3}::operator()() const"),
            "Pool::run::{lambda}::{lambda#3}");
  EXPECT_EQ(prose_name("main::{lambda()#1}::_FUN()"), "main::{lambda}");
  EXPECT_EQ(prose_name("main::{lambda}::operator()"), "main::{lambda}");
}

TEST(SpokenName, OfALambdaIsTheSameForBothCompilers) {
  struct Case {
    std::string_view name, spoken;
  };
  for (const Case& each :
       {Case{"sort_orders(int)::{lambda(Order const&)#1}::operator()(Order const&) const",
             "a lambda in sort_orders"},
        Case{"sort_orders(int)::$_0::operator()(Order const&) const", "a lambda in sort_orders"},
        Case{"Shop::serve()::$_12::operator()() const", "a lambda in Shop::serve"},
        Case{"main::$_0::__invoke()", "a lambda in main"}, Case{"app$_0::go", "app$_0::go"},
        Case{"ns::$_x::go()", "$_x::go"}})
    EXPECT_EQ(spoken_name(each.name), each.spoken) << each.name;
}

TEST(SpokenName, OfTheCLibraryLeavesTheProcessorOut) {
  struct Case {
    std::string_view name, spoken;
  };
  for (const Case& each :
       {Case{"__memset_avx512_unaligned_erms", "memset"}, Case{"__strlen_evex", "strlen"},
        Case{"__strcasecmp_l_avx2_rtm", "strcasecmp_l"}, Case{"__memcmp_evex_movbe", "memcmp"},
        Case{"__sin_fma", "sin"}, Case{"__memcpy_chk", "__memcpy_chk"},
        Case{"my_avx2_kernel", "my_avx2_kernel"}, Case{"__avx2_dot", "__avx2_dot"},
        Case{"__vfprintf_internal", "__vfprintf_internal"}})
    EXPECT_EQ(spoken_name(each.name), each.spoken) << each.name;
}

TEST(ProseName, OperatorsAreNames) {
  EXPECT_EQ(prose_name("operator new(unsigned long)"), "operator new");
  EXPECT_EQ(prose_name("bool ns::operator< <int>(ns::X const&, ns::X const&)"), "ns::operator<");
  EXPECT_EQ(prose_name("std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > "
                       "std::operator+<char, std::char_traits<char>, std::allocator<char> >(char const*)"),
            "std::operator+");
  EXPECT_EQ(prose_name("bool ns::operator><int>(ns::X const&)"), "ns::operator>");
  EXPECT_EQ(prose_name("ns::operator<< <char>(ns::X const&)"), "ns::operator<<");
  EXPECT_EQ(prose_name("Table::operator()<int>(int)"), "Table::operator()");
  EXPECT_EQ(prose_name("Table::operator()(int)"), "Table::operator()");
  EXPECT_EQ(prose_name("Table::operator[](int)"), "Table::operator[]");
}

TEST(ProseName, HasNoMarkOfTheStringsOfGcc) {
  EXPECT_EQ(prose_name("format_row[abi:cxx11](int)"), "format_row");
  EXPECT_EQ(prose_name("Table::name[abi:cxx11]() const"), "Table::name");
  EXPECT_EQ(prose_name("Table::operator[](int)"), "Table::operator[]");
}

TEST(ProseName, APlaceWithoutANameStaysWhole) {
  EXPECT_EQ(prose_name("[libsqlite3.so.0+0xa74f0]"), "[libsqlite3.so.0+0xa74f0]");
}

TEST(SpokenName, OfAStrippedFunctionIsItsModuleAndAddress) {
  EXPECT_EQ(spoken_name("libsqlite3.so.0.8.6@fde+0xa74f0"), "an unnamed function of libsqlite3 (0xa74f0)");
  EXPECT_EQ(spoken_name("redis-server@fde+0x13bf40"), "an unnamed function of redis-server (0x13bf40)");
  EXPECT_EQ(spoken_name("a::b::c::d"), "c::d");
  EXPECT_EQ(spoken_name("__GI___libc_read"), "read");
  EXPECT_EQ(spoken_name("__GI_memcpy"), "memcpy");
  EXPECT_EQ(spoken_name("libsqlite3@0xa74f0"), "an unnamed function of libsqlite3 (0xa74f0)");
  for (const char* other : {"@fde+0x12", "x@fde+0x", "x@fde+0xyz"})
    EXPECT_EQ(spoken_name(other), prose_name(other));
}

TEST(SpokenName, OfALambdaIsTheFunctionThatItStandsIn) {
  EXPECT_EQ(spoken_name("Pool::run(bool) const::{lambda(int)#1}::operator()(int) const"),
            "a lambda in Pool::run");
  EXPECT_EQ(spoken_name("main::{lambda()#2}::_FUN()"), "a lambda in main");
  EXPECT_EQ(spoken_name(
                "Pool::run(bool)::{lambda(auto:1)#1}::operator()<int>(int) const::{lambda()#3}::operator()() "
                "const"),
            "a lambda in Pool::run");
  EXPECT_EQ(spoken_name("(anonymous namespace)::grow(int)::{lambda()#1}::operator()() const"),
            "a lambda in grow");
  EXPECT_EQ(spoken_name("std::function<void ()>::function<main::{lambda()#1}>(main::{lambda()#1})"),
            prose_name("std::function<void ()>::function<main::{lambda()#1}>(main::{lambda()#1})"));
}

// The rules for C++ would make "main.Shop", "Swift.Int" or "(/app/x.py:3)" of these.
TEST(ProseName, OfOtherLanguagesStaysWhole) {
  for (const std::string name :
       {"main.(*Shop).serve", "main.Map[go.shape.int,go.shape.string]",
        "type:.eq.struct { F uintptr; X *main.T }", "closure #1 in app.Shop.serve(request: Swift.String)",
        "app.first<A>(A) -> Swift.Int", "std.algorithm.sorting.sort!(\"a < b\", int[]).sort(int[])",
        "<module> (/app/x.py:3)", "Shop.serve (/app/x.py:30)", "<lambda> (/app/x.py:3)"})
    EXPECT_EQ(prose_name(name), name);
  EXPECT_EQ(prose_name("main.order (inlined)"), "main.order");
  EXPECT_EQ(prose_name("<impl shop::Api for shop::Pool>::go"), "Pool::go");
}

TEST(ProseName, AnyTextGivesSomeText) {
  for (const char* odd : {"", "(", ")", "<", "<>", "::", "a::", "operator", "<<a as b>::c", "f(", "))((",
                          "{{closure}}", ") const::"})
    EXPECT_LE(prose_name(odd).size(), 64u) << odd;
}

// Of code that was made at run time the name has the place, too.
TEST(GeneratedName, IsTheFunctionAndWhereItBegins) {
  const auto of = [](std::string_view name) {
    const auto generated = generated_name(name);
    return generated ? generated->function + " at " + generated->place : "none";
  };
  EXPECT_EQ(of("JS:*add /app/x.js:1:2"), "add at x.js:1");
  EXPECT_EQ(of("LazyCompile:~get size /my app/x.js:12:3"), "get size at x.js:12");
  EXPECT_EQ(of("JS:^run file:///app/x.mjs:7:19"), "run at x.mjs:7");
  EXPECT_EQ(of("JS:*emit node:events:465:44"), "emit at node:events:465");
  EXPECT_EQ(of("Function:* /app/x.js:3:4"), " at x.js:3");
  EXPECT_EQ(of("py::serve:/app/x.py"), "serve at x.py");
  EXPECT_EQ(of("JS:*add"), "none");
  EXPECT_EQ(of("JS::add x"), "none");
  EXPECT_EQ(of("std::vector<int>::push_back(int)"), "none");
  EXPECT_EQ(prose_name("JS:*add /app/x.js:1:2"), "add");
  EXPECT_EQ(prose_name("JS:* /app/x.js:1:2"), "x.js:1");
  EXPECT_EQ(spoken_name("py::serve:/app/x.py"), "serve");
}

}  // namespace
}  // namespace fathom::analysis
