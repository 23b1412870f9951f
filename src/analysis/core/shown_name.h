// A function's name as a view prints it, taken back: what a user copies from a report finds the function again, however short
// the report was. Text goes through the same functions that shorten names, and gaps ("…", "<..>") stand for any text; so what
// one view leaves out is not kept in a second list of rules.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fathom::analysis {

// How well a text fits the name of a function, the better the larger.
enum class NameFit : std::uint8_t {
  kNone,
  kPart,  // it is a part of the name, or of what a view prints of it
  kLike,  // it is the end of the path: "find" and "Table::find" of "shop::Table<int>::find(int)"
  kName,  // it is the name, or what a view prints of it
};

class ShownName {
 public:
  explicit ShownName(std::string_view text);
  NameFit fit(std::string_view name) const;

 private:
  NameFit fit_of_function(std::string_view name, std::string_view text) const;
  bool fits_gaps(std::string_view shown, bool whole) const;

  std::string text_;                 // without the mark of inlined calls
  std::string key_;                  // all matching names have these characters; empty: none known
  std::vector<std::string> pieces_;  // what stands between gaps
  std::string path_;                 // "::Table::find"; empty: the text is no path
};

}  // namespace fathom::analysis
