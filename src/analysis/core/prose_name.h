// Names as prose and narrow columns have room for them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fathom::analysis {

// The function and what it belongs to: without return type, arguments, template arguments and outer namespaces.
// "void std::__cxx11::basic_regex<char>::assign(char const*)" -> "basic_regex::assign"; "<reth::Pool as Api>::go" ->
// "Pool::go"; "serve::{{closure}}" keeps its function. The last named part is never lost.
std::string prose_name(std::string_view name);
// The parts of the path that it takes the last of.
std::vector<std::string> name_parts(std::string_view name);

// A name of a language that does not use "::" between the parts, judged by its look: it stays whole.
bool is_dotted_name(std::string_view name);

// "f(int) const &" -> "f(int)"
std::string without_qualifiers(std::string text);
// "void f(int) const" -> "void f"; "(anonymous namespace)" is no argument.
std::string without_arguments(std::string_view name);

// The same for a sentence: a function of which only the bounds are known is "an unnamed function of libsqlite3 (0xa74f0)",
// and a lambda of C++ "a lambda in Shop::serve".
std::string spoken_name(std::string_view name);

// "libstdc++.so.6.0.30" -> "libstdc++", "_json.cpython-311-linux-gnu.so" -> "_json".
std::string short_module(std::string_view module);

}  // namespace fathom::analysis
