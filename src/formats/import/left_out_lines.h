// Lines of a text that are none of its format's: a line that was cut short, a warning between two records. They cost themselves,
// and are counted and shown.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace fathom::formats {

class LeftOutLines {
 public:
  // `number`: the first line is 1.
  void add(std::uint64_t number, std::string_view text) {
    if (count_++ == 0) {
      first_ = number;
      text_ = text.substr(0, kKept);
    }
  }
  std::uint64_t count() const { return count_; }

  // "2 of 90 lines are none of callgrind's and are left out; the first is line 7: 'WARNING: ...'."; "" where there are none.
  // `what`: "none of callgrind's".
  std::string note(std::uint64_t lines, std::string_view what) const;

 private:
  static constexpr std::size_t kKept = 100;
  std::uint64_t count_ = 0, first_ = 0;
  std::string text_;  // how the first one begins
};

}  // namespace fathom::formats
