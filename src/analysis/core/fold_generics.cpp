#include "analysis/core/fold_generics.h"

#include <cstddef>

namespace fathom::analysis {
namespace {

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' ||
         (c & 0x80) != 0;
}

// The length of an operator's name when `rest` starts with one that has angle brackets in it: operator<,
// operator<<=, operator->, operator<=> ... 0 otherwise.
std::size_t operator_length(std::string_view rest) {
  constexpr std::string_view kWord = "operator";
  if (!rest.starts_with(kWord)) return 0;
  std::size_t end = kWord.size();
  while (end < rest.size() && (rest[end] == '<' || rest[end] == '>' || rest[end] == '=' || rest[end] == '-'))
    ++end;
  if (end == kWord.size()) return 0;
  // "operator< <int>" and "operator<<int>" are written by demanglers for operator< with arguments.
  const std::string_view symbols = rest.substr(kWord.size(), end - kWord.size());
  const bool whole = symbols == "<" || symbols == ">" || symbols == "<<" || symbols == ">>" ||
                     symbols == "<=" || symbols == ">=" || symbols == "<<=" || symbols == ">>=" ||
                     symbols == "->" || symbols == "<=>";
  return whole ? end : 0;
}

// The position behind the bracket that closes the one at `open`, or npos.
std::size_t behind_closing(std::string_view name, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < name.size(); ++i) {
    if (const std::size_t skip = operator_length(name.substr(i)); skip != 0) {
      i += skip - 1;
    } else if (name[i] == '<') {
      ++depth;
    } else if (name[i] == '>' && (i == 0 || (name[i - 1] != '-' && name[i - 1] != '='))) {
      if (--depth == 0) return i + 1;
    }
  }
  return std::string_view::npos;
}

}  // namespace

std::string fold_generics(std::string_view name) {
  std::string folded;
  folded.reserve(name.size());
  for (std::size_t i = 0; i < name.size();) {
    if (const std::size_t length = operator_length(name.substr(i)); length != 0) {
      folded.append(name.substr(i, length));
      i += length;
      continue;
    }
    if (name[i] == '<' && i != 0 && (is_word(name[i - 1]) || name[i - 1] == ':')) {
      const std::size_t end = behind_closing(name, i);
      if (end == std::string_view::npos) return std::string(name);
      folded += "<..>";
      i = end;
      continue;
    }
    folded += name[i++];
  }
  return folded;
}

}  // namespace fathom::analysis
