#include "cli/shell_words.h"

#include <utility>

namespace fathom::cli {

std::optional<std::vector<std::string>> shell_words(const std::string& text) {
  std::vector<std::string> words;
  std::string word;
  bool in_word = false;
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote == '\'') {
      if (c == quote)
        quote = 0;
      else
        word += c;
      continue;
    }
    if (c == '\\' && i + 1 < text.size()) {
      const char next = text[++i];
      // Within double quotes a backslash stands for itself before all but these.
      if (quote != 0 && next != '"' && next != '\\' && next != '$' && next != '`') word += c;
      word += next;
      in_word = true;
      continue;
    }
    if (quote == '"') {
      if (c == quote)
        quote = 0;
      else
        word += c;
      continue;
    }
    if (c == '\'' || c == '"') {
      quote = c;
      in_word = true;
    } else if (c == ' ' || c == '\t' || c == '\n') {
      if (in_word) words.push_back(std::move(word));
      word.clear();
      in_word = false;
    } else {
      word += c;
      in_word = true;
    }
  }
  if (quote != 0) return std::nullopt;
  if (in_word) words.push_back(std::move(word));
  return words;
}

}  // namespace fathom::cli
