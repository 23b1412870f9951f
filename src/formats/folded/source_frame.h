// A frame as profilers of scripts write it into folded text: the function with the place where it stands.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace fathom::formats {

struct SourceFrame {
  std::string_view function, file;
  std::uint32_t line = 0;  // 0: not known
};

// "parse (json/decoder.py:100)" of py-spy, "parse (app.js:10:5)" with a column, "parse (app.py)" without a line,
// "block in parse - lib/json.rb:100" of rbspy, "json/decoder.py:parse:100" of austin, "parse /srv/app.js:10:5" of V8. nullopt: a name alone; parameters in
// parentheses, as of C++, are part of a name.
std::optional<SourceFrame> source_frame(std::string_view frame);

}  // namespace fathom::formats
