#include "analysis/core/prose_name.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "analysis/core/common_costs.h"
#include "analysis/core/fold_generics.h"
#include "analysis/core/generated_name.h"
#include "analysis/core/words.h"
#include "base/parse.h"
#include "model/nameless_function.h"

namespace fathom::analysis {
namespace {

bool opens(char c) {
  return c == '<' || c == '(' || c == '[' || c == '{';
}
bool closes(std::string_view text, std::size_t at) {
  const char c = text[at];
  return c == ')' || c == ']' || c == '}' ||
         (c == '>' && (at == 0 || (text[at - 1] != '-' && text[at - 1] != '=')));
}

// Where the function's own name begins with "operator", npos if it is no operator: its brackets and spaces are its name.
std::size_t operator_at(std::string_view text) {
  const std::size_t at = text.rfind("operator");
  if (at == text.npos || (at != 0 && text[at - 1] != ':' && text[at - 1] != ' ')) return text.npos;
  const std::size_t end = at + 8;
  const bool word =
      end < text.size() && (text[end] == '_' || std::isalnum(static_cast<unsigned char>(text[end])) != 0);
  return word ? text.npos : at;
}

// Where the arguments of a template begin behind an operator, npos if it has none: "operator+<char>", and apart from what
// ends in a bracket itself, "operator< <int>".
std::size_t template_of_operator(std::string_view text, std::size_t at) {
  const std::size_t first = at + 8;
  std::size_t end = first;
  if (text.substr(first).starts_with("()") || text.substr(first).starts_with("[]"))
    end += 2;
  else
    end = std::min(text.find_first_not_of("+-*/%^&|~!=,>", first), text.size());
  if (end > first && end < text.size() && text[end] == '<') return end;
  return text.find(" <", at);
}

void drop_all(std::string& text, std::string_view part) {
  for (std::size_t at; (at = text.find(part)) != std::string::npos;) text.erase(at, part.size());
}

// "<&mut a::Pool as b::Api>::go" -> "a::Pool::go".
std::string without_trait(const std::string& text) {
  if (!text.starts_with('<')) return text;
  int depth = 0;
  std::size_t as = std::string::npos;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '<') ++depth;
    if (depth == 1 && as == std::string::npos && text.compare(i, 4, " as ") == 0) as = i;
    if (text[i] != '>' || text[i - 1] == '-' || --depth != 0) continue;
    std::string type = text.substr(1, std::min(as, i) - 1);
    for (const std::string_view sigil : {"&", "mut ", "dyn ", "*const ", "*mut "})
      if (type.starts_with(sigil)) type.erase(0, sigil.size());
    return type.empty() || text.compare(i + 1, 2, "::") != 0 ? text : type + text.substr(i + 1);
  }
  return text;
}

std::string without_return_type(const std::string& text) {
  const std::size_t end = std::min(operator_at(text), text.size());
  int depth = 0;
  std::size_t start = 0;
  for (std::size_t i = 0; i < end; ++i) {
    if (opens(text[i])) ++depth;
    if (closes(text, i)) --depth;
    if (depth == 0 && text[i] == ' ') start = i + 1;
  }
  while (start < text.size() && (text[start] == '*' || text[start] == '&')) ++start;
  return text.substr(start);
}

std::vector<std::string> parts_of(const std::string& text) {
  const std::size_t end = std::min(operator_at(text), text.size());
  std::vector<std::string> parts;
  int depth = 0;
  std::size_t start = 0;
  for (std::size_t i = 0; i + 1 < end; ++i) {
    if (opens(text[i])) ++depth;
    if (closes(text, i)) --depth;
    if (depth != 0 || text[i] != ':' || text[i + 1] != ':') continue;
    parts.push_back(text.substr(start, i - start));
    start = ++i + 1;
  }
  parts.push_back(text.substr(start));
  std::erase_if(parts, [](const std::string& part) {
    return part.empty() || part == "__cxx11" || part == "__1" || part == "(anonymous namespace)" ||
           part == "_V2";
  });
  return parts;
}

// "$_0", as clang names a lambda of a function, and counts from 0: "{lambda#1}". Empty: the part is no such name.
std::string lambda_of_clang(std::string_view part) {
  if (!part.starts_with("$_")) return "";
  const auto number = parse_number<std::uint32_t>(part.substr(2));
  return number ? fmt::format("{{lambda#{}}}", std::uint64_t{*number} + 1) : "";
}

// "{lambda(int)#1}" and the operator() that it is called by: "{lambda}"; the second of a function is "{lambda#2}".
void shorten_lambdas(std::vector<std::string>& parts) {
  for (std::size_t i = 0; i < parts.size(); ++i) {
    std::string& part = parts[i];
    const std::string of_clang = lambda_of_clang(part);
    if (!of_clang.empty()) part = of_clang;
    const bool bare = part == "{lambda}";  // as DWARF names it that has no linkage name
    if (!bare && of_clang.empty() && (!part.starts_with("{lambda(") || !part.ends_with('}'))) continue;
    const std::size_t number = part.rfind('#');
    const std::string_view which =
        number == part.npos ? "" : std::string_view(part).substr(number, part.size() - number - 1);
    part = which.empty() || which == "#1" ? "{lambda}" : fmt::format("{{lambda{}}}", which);
    if (i + 1 < parts.size() &&
        (parts[i + 1].starts_with("operator()") || parts[i + 1] == "_FUN" || parts[i + 1] == "__invoke"))
      parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(i) + 1);
  }
}

bool names_nothing(const std::string& part) {
  return part.starts_with('{') || part.starts_with("operator()");
}

std::string joined(const std::vector<std::string>& parts, std::size_t first, std::size_t end) {
  std::string text;
  for (std::size_t i = first; i < end; ++i) text += (i == first ? "" : "::") + parts[i];
  return text;
}

// "memset" for "__memset_avx512_unaligned_erms": glibc has one function for each kind of processor. Empty: no such name.
std::string_view without_processor(std::string_view name) {
  constexpr std::array<std::string_view, 12> kProcessors = {
      "sse2", "sse3", "ssse3", "sse4", "sse42", "avx", "avx2", "avx512", "evex", "evex512", "fma", "fma4"};
  if (!name.starts_with("__") || name.find("::") != name.npos) return "";
  for (std::size_t at = name.find('_', 2); at != name.npos && at > 2; at = name.find('_', at + 1)) {
    const std::string_view word = name.substr(at + 1, name.find('_', at + 1) - at - 1);
    if (std::ranges::find(kProcessors, word) != kProcessors.end()) return name.substr(2, at - 2);
  }
  return "";
}

}  // namespace

std::string without_qualifiers(std::string text) {
  for (bool again = true; again;) {
    again = false;
    for (const std::string_view suffix : {" const", " &&", " &", " noexcept", " (inlined)"}) {
      if (!text.ends_with(suffix)) continue;
      text.erase(text.size() - suffix.size());
      again = true;
    }
    const std::size_t clone = text.rfind(" [clone ");
    if (clone != std::string::npos && text.ends_with(']')) {
      text.erase(clone);
      again = true;
    }
  }
  return text;
}

std::string without_arguments(std::string_view name) {
  std::string text = without_qualifiers(std::string(name));
  if (!text.ends_with(')')) return text;
  int depth = 0;
  for (std::size_t i = text.size(); i-- > 0;) {
    if (text[i] == ')') ++depth;
    if (text[i] != '(' || --depth != 0) continue;
    const std::string_view before = std::string_view(text).substr(0, i);
    if (i == 0 || before.ends_with("::") || before.ends_with(' ') || before.ends_with("operator"))
      return text;
    return text.substr(0, i);
  }
  return text;
}

// Names of Go, Swift, D, Java and Python have dots where C++ and Rust have colons, and blanks that stand before no name:
// "main.(*Tree).walk", "closure #1 in app.Shop.serve()", "<module> (/app/x.py:3)".
bool is_dotted_name(std::string_view name) {
  if (name.find("::") != name.npos || name.starts_with('[') || name.starts_with("decltype (") ||
      generated_name(name))
    return false;
  int depth = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (opens(name[i])) ++depth;
    if (closes(name, i)) --depth;
    if (depth != 0) continue;
    if (name[i] == '.' && i != 0 && i + 1 < name.size() && name[i + 1] != '.' && name[i - 1] != '.' &&
        name.find(" [clone ") == name.npos)
      return true;
    if (i != 0 && name.substr(i).starts_with(" (") && name.ends_with(')') && !name.ends_with("(inlined)"))
      return true;
  }
  return name.starts_with('<') && name.find(" as ") == name.npos;
}

std::vector<std::string> name_parts(std::string_view name) {
  if (is_dotted_name(name)) {
    constexpr std::string_view kInlined = " (inlined)";
    if (name.ends_with(kInlined)) name.remove_suffix(kInlined.size());
    return {printable(name)};
  }
  std::string text = fold_generics(printable(name));
  drop_all(text, "(anonymous namespace)::");
  drop_all(text, "[abi:cxx11]");  // of each function of GCC that returns a std::string
  drop_all(text, "::<..>");
  drop_all(text, "<..>");
  // "f(bool) const::{lambda()#1}": what it is a closure of.
  bool was_closure = false;
  for (std::size_t at;
       (at = text.find(")::")) != std::string::npos || (at = text.find(") const::")) != std::string::npos;) {
    const std::size_t open = text.rfind('(', at);
    const std::size_t end = text.find("::", at);
    if (open == std::string::npos || open == 0 || text.compare(open, 21, "(anonymous namespace)") == 0) break;
    text.erase(open, end - open);
    was_closure = true;
  }
  // Only what has arguments has a type that it returns in its name.
  std::string called = without_arguments(text);
  const bool is_call =
      called.size() != without_qualifiers(text).size() || operator_at(called) != called.npos || was_closure;
  text = without_trait(called);
  if (is_call) text = without_return_type(text);
  if (const std::size_t at = operator_at(text); at != text.npos && text.ends_with('>'))
    if (const std::size_t open = template_of_operator(text, at); open != text.npos) text.resize(open);
  std::vector<std::string> parts = parts_of(text);
  shorten_lambdas(parts);
  return parts;
}

std::string prose_name(std::string_view name) {
  if (name.starts_with('[')) return printable(name);  // "[libx.so+0x12]"
  if (auto generated = generated_name(name))
    return generated->function.empty() ? generated->place : generated->function;
  const std::vector<std::string> parts = name_parts(name);
  if (parts.empty()) return printable(name);
  // A closure is nothing without the function that it stands in.
  std::size_t named = parts.size();
  while (named > 1 && names_nothing(parts[named - 1])) --named;
  return joined(parts, named >= 2 ? named - 2 : 0, parts.size());
}

std::string spoken_name(std::string_view name) {
  // glibc's names for what it calls itself.
  for (const std::string_view internal : {"__GI___libc_", "__GI_"})
    if (name.starts_with(internal) && name.size() > internal.size())
      return spoken_name(name.substr(internal.size()));
  if (const std::string_view plain = without_processor(name); !plain.empty()) return std::string(plain);
  if (const auto nameless = model::nameless_function(name))
    return "an unnamed function of " + short_module(nameless->module) + " (0x" +
           std::string(nameless->address) + ")";
  if (name.find("{lambda") == name.npos && name.find("$_") == name.npos) return prose_name(name);
  std::vector<std::string> parts = name_parts(name);
  const std::size_t all = parts.size();
  while (!parts.empty() && parts.back().starts_with("{lambda")) parts.pop_back();
  if (parts.empty() || parts.size() == all) return prose_name(name);
  return "a lambda in " + joined(parts, parts.size() >= 2 ? parts.size() - 2 : 0, parts.size());
}

std::string short_module(std::string_view module) {
  std::string text = printable(module.substr(module.rfind('/') + 1));
  for (const std::string_view end : {".so", ".cpython-", ".pypy"})
    if (const std::size_t at = text.find(end); at != std::string::npos && at != 0) text.resize(at);
  return text;
}

}  // namespace fathom::analysis
