// The first of the two steps in which lines of folded text are read: they are cut, their counts are read and their calls are
// hashed. Nothing here depends on what other lines have taught, so a thread of its own may be ahead with it (preparing_thread.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/text_index.h"
#include "formats/folded/calls.h"
#include "formats/folded/parts.h"
#include "formats/folded/text_lines.h"

namespace fathom::formats {

struct PreparedLine {
  enum class Kind : std::uint8_t { kStack, kComment, kOther };
  Kind kind = Kind::kOther;
  bool same_thread = false;        // of a stack: its first two parts are those of the stack before
  std::uint8_t first_frame = 0;    // of a stack: the part with which its frames begin
  std::uint32_t number = 0;        // in the block; the first is 1
  std::string_view text;           // of a stack: without its count
  std::string_view first, second;  // of a stack: its first two parts; empty: it has only one
  folded_text::Count count;
  std::size_t begin = 0, end = 0;  // of its calls in LineBlock
};

// Texts are views of what was read.
struct LineBlock {
  std::vector<PreparedLine> lines;  // without empty ones
  std::uint32_t all = 0;            // with them
  bool of_three = false;            // a line has three counts
  std::vector<std::uint64_t> hashes, paths;
  void clear();
};

class LinePreparer {
 public:
  // `difference`: every line has two counts. `has_deep`: some stacks have several frames, so that others look like messages.
  LinePreparer(bool difference, bool has_deep) : difference_(difference), has_deep_(has_deep) {}

  // All lines of a text in their order, without the "\n".
  void add(std::string_view line, LineBlock& block);
  // Whole lines.
  void add_lines(std::string_view text, LineBlock& block);

 private:
  std::uint8_t find_first_frame(const Parts& parts);

  bool difference_, has_deep_;
  Parts parts_;  // of the last stack
  Calls calls_;
  bool has_last_ = false;
  std::uint8_t first_frame_ = 0;
  TextIndex first_parts_;
  std::vector<std::uint8_t> first_frames_;  // by number of first_parts_
};

// "P42", "T7", "T0:7": the last number. nullopt: another text.
std::optional<std::int32_t> number_behind(char letter, std::string_view part);

}  // namespace fathom::formats
