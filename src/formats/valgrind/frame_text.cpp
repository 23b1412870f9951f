#include "formats/valgrind/frame_text.h"

#include <fmt/format.h>

#include "base/parse.h"
#include "base/text.h"
#include "formats/import/import.h"

namespace fathom::formats {

FrameText parse_frame_text(std::string_view text) {
  FrameText frame;
  std::string_view address;
  if (const std::size_t colon = text.find(": "); text.starts_with("0x") && colon != std::string_view::npos) {
    address = text.substr(0, colon);
    text.remove_prefix(colon + 2);
  }
  const std::size_t open = text.rfind(" (");
  std::string_view name = text;
  if (open != std::string_view::npos && text.ends_with(')')) {
    const std::string_view inside = text.substr(open + 2, text.size() - open - 3);
    const std::size_t colon = inside.rfind(':');
    if (inside.starts_with("in ")) {
      frame.module = inside.substr(3);
      name = text.substr(0, open);
    } else if (colon != std::string_view::npos && colon + 1 < inside.size()) {
      // Of Rust's crate there is a column behind the line: "main.rs:12:5".
      std::string_view place = inside;
      std::uint32_t number = 0;
      const auto take_number = [&] {
        const std::size_t at = place.rfind(':');
        if (at == std::string_view::npos) return false;
        const auto value = parse_number<std::uint32_t>(place.substr(at + 1));
        if (!value) return false;
        number = *value;
        place = place.substr(0, at);
        return true;
      };
      if (take_number()) {
        (void)take_number();
        frame.file = place;
        frame.line = number;
        name = text.substr(0, open);
      }
    }
  }
  frame.function = name;
  if (name == "???" || name.empty())
    frame.function = frame.module.empty() ? fmt::format("[{}]", address.empty() ? "unknown" : address)
                                          : fmt::format("[{} at {}]", base_name(frame.module), address);
  return frame;
}

}  // namespace fathom::formats
