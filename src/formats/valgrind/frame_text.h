// A frame as valgrind's tools write it: "0x4844818: main (book.c:12)", "0x48FC7B9: ??? (in /usr/lib/libstdc++.so.6)".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace fathom::formats {

struct FrameText {
  std::string function;  // a place where it has no name: "[libstdc++.so.6 at 0x48FC7B9]"
  std::string_view file, module;
  std::uint32_t line = 0;
};

// Parts of `text`, which outlives them. What is of another form is all name.
FrameText parse_frame_text(std::string_view text);

}  // namespace fathom::formats
