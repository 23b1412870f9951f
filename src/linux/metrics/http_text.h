// Words of a header line, as requests and responses have them. Source: RFC 9110, section 5.
#pragma once

#include <string>
#include <string_view>

namespace fathom::metrics {

// Of ASCII letters only, whatever the locale is.
inline std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

// Without the blanks and tabs at its ends.
inline std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

}  // namespace fathom::metrics
