// String literals of C++ and TypeScript sources: what a user may read, in one list.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace fathom::words {

struct UserString {
  std::string file;
  std::size_t line = 0;
  std::string text;      // adjacent literals joined, as written: escapes and placeholders stay
  bool wrapped = false;  // written as several literals although none of them ends a line
  bool operator==(const UserString&) const = default;
};

// Literals of one source. Comments, raw strings, characters and names of headers are left out.
std::vector<UserString> strings_of(const std::string& file, std::string_view source);

// Three words and more: names of fields, formats and options are no sentences.
bool is_sentence(const UserString& string);

// Strings of all sources below `folder` (src, web/src) that are no tests, by file and line.
std::vector<UserString> all_strings(const std::string& folder);

// The first word or construction in `text` that plain English avoids; "" if there is none.
std::string avoided_in(std::string_view text);

}  // namespace fathom::words
