#include "formats/import/left_out_lines.h"

#include <fmt/format.h>

namespace fathom::formats {

std::string LeftOutLines::note(std::uint64_t lines, std::string_view what) const {
  constexpr std::size_t kShown = 60;
  if (count_ == 0) return "";
  const bool one = count_ == 1;
  return fmt::format("{} of {} lines {} {} and {} left out; {} line {}: '{}{}'.", count_, lines,
                     one ? "is" : "are", what, one ? "is" : "are", one ? "it is" : "the first is", first_,
                     text_.substr(0, kShown), text_.size() > kShown ? "..." : "");
}

}  // namespace fathom::formats
