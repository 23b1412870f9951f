#include "analysis/core/code_name.h"

#include <cstddef>

namespace fathom::analysis {
namespace {

constexpr std::size_t kNone = std::string_view::npos;
constexpr std::string_view kNameless = "(anonymous namespace)";

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' ||
         c == '~' || (c & 0x80) != 0;
}
bool opens(char c) {
  return c == '<' || c == '(' || c == '[' || c == '{';
}
bool closes(char c) {
  return c == '>' || c == ')' || c == ']' || c == '}';
}
bool is_arrow(std::string_view text, std::size_t at) {  // of "->" and "=>", which close nothing
  return text[at] == '>' && at > 0 && (text[at - 1] == '-' || text[at - 1] == '=');
}

// Behind the bracket that closes the one at `open`; the end if none does.
std::size_t behind(std::string_view text, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < text.size(); ++i) {
    if (opens(text[i])) ++depth;
    if (closes(text[i]) && !is_arrow(text, i) && --depth == 0) return i + 1;
  }
  return text.size();
}

// Where " as " or " for " stands outside of brackets.
std::size_t find_word(std::string_view text, std::string_view word) {
  for (std::size_t i = 0; i < text.size();) {
    if (opens(text[i])) {
      i = behind(text, i);
    } else if (text.substr(i).starts_with(word)) {
      return i;
    } else {
      ++i;
    }
  }
  return kNone;
}

// A lone class is no namespace, and a type without a path no crate: "Cache::put", "Node<T>::walk", "parser::parser". By their
// look: a capital letter with a function's name behind it, or the name of a constructor or destructor.
bool is_lone_class(std::string_view first, std::string_view rest) {
  if (rest.starts_with('~')) rest.remove_prefix(1);
  std::size_t end = 0;
  while (end < rest.size() && is_name_character(rest[end])) ++end;
  const std::string_view second = rest.substr(0, end);
  const bool capital = first.front() >= 'A' && first.front() <= 'Z';
  if (end < rest.size() && rest[end] == '<') end = behind(rest, end);
  const bool more = rest.substr(end).starts_with("::");
  if (rest.starts_with("{lambda")) return true;  // it stands in a function
  return !more && (capital || second == first);
}

// The first segment of a path that has a second one.
std::string_view first_of_path(std::string_view path) {
  std::size_t end = 0;
  if (path.starts_with(kNameless)) {
    end = kNameless.size();
  } else {
    while (end < path.size() && is_name_character(path[end])) ++end;
  }
  if (end == 0) return {};
  std::size_t next = end;
  if (next < path.size() && path[next] == '<') next = behind(path, next);
  if (path.substr(next).starts_with("[abi:")) next = behind(path, next);
  if (!path.substr(next).starts_with("::") || path.starts_with(kNameless)) return {};
  const std::string_view first = path.substr(0, end);
  return is_lone_class(first, path.substr(next + 2)) ? std::string_view{} : first;
}

// Of a Rust type: "&mut foo::Bar" -> foo, "dyn foo::Trait" -> foo; nothing for T, u8, [T] and (A, B).
std::string_view crate_of_type(std::string_view type) {
  for (bool more = true; more;) {
    more = false;
    for (const std::string_view start : {"&", "*", "mut ", "const ", "dyn ", " ", "impl "})
      if (type.starts_with(start)) {
        type.remove_prefix(start.size());
        more = true;
      }
  }
  if (type.starts_with('<')) return crate_of(type);
  return first_of_path(type);
}

// What stands in the brackets of "<...>::f".
std::string_view crate_of_bracket(std::string_view inside) {
  constexpr std::string_view kAs = " as ", kFor = " for ";
  if (inside.starts_with("impl ")) {  // "impl Trait for T"
    const std::size_t at = find_word(inside, kFor);
    const std::string_view trait = inside.substr(5, at == kNone ? kNone : at - 5);
    const std::string_view type = at == kNone ? trait : inside.substr(at + kFor.size());
    const std::string_view crate = crate_of_type(type);
    return crate.empty() ? crate_of_type(trait) : crate;
  }
  const std::size_t at = find_word(inside, kAs);
  const std::string_view crate = crate_of_type(inside.substr(0, at));
  return !crate.empty() || at == kNone ? crate : crate_of_type(inside.substr(at + kAs.size()));
}

}  // namespace

std::string_view crate_of(std::string_view name) {
  for (const std::string_view start : {"non-virtual thunk to ", "virtual thunk to ", "guard variable for "})
    if (name.starts_with(start)) name.remove_prefix(start.size());
  if (name.starts_with('[')) return {};  // a place without a name
  if (name.starts_with("_<")) name.remove_prefix(1);
  if (name.starts_with('<')) {
    const std::size_t end = behind(name, 0);
    if (name.substr(end).starts_with("::")) return crate_of_bracket(name.substr(1, end - 2));
    return {};
  }
  // A C++ template's name begins with what it returns: the name is the last word before its arguments.
  std::size_t start = 0;
  for (std::size_t i = 0; i < name.size();) {
    const std::string_view rest = name.substr(i);
    if (rest.starts_with(kNameless)) {
      i += kNameless.size();
    } else if (name[i] == '(' && i != start) {
      break;
    } else if (rest.starts_with("operator") && (i == start || !is_name_character(name[i - 1]))) {
      break;
    } else if (opens(name[i])) {
      i = behind(name, i);
    } else if (name[i] == ' ') {
      // What follows a function's name in Rust or in a clone is no other name: " [clone .cold]".
      if (rest.starts_with(" [")) break;
      start = ++i;
    } else {
      ++i;
    }
  }
  while (start < name.size() && (name[start] == '&' || name[start] == '*')) ++start;
  return first_of_path(name.substr(start));
}

}  // namespace fathom::analysis
