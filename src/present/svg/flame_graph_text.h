// Names and numbers as a picture shows them. Names are hostile input: whatever bytes a symbol table holds,
// what comes out of here is well-formed. The script (web/svg/labels.ts) has short_name() and label() once more,
// and a browser test holds the two to each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace fathom::present {

// Valid UTF-8 that XML 1.0 allows and that prints on one line: bytes that are no UTF-8, control characters
// and the marks that turn the direction of writing become U+FFFD.
std::string clean_text(std::string_view bytes);

// `clean` as the content of an element. Names never go into attributes.
std::string escape_xml(std::string_view clean);

// "text" as JSON, quotes included. For use inside XML, escape_xml() comes after it.
std::string json_string(std::string_view clean);

// Columns in a font of fixed width: East Asian and emoji characters take two.
std::size_t text_columns(std::string_view clean);

// A function's name without return type, arguments and generic arguments, and `<a::T as b::Trait>::f` as
// `T::f`.
std::string short_name(std::string_view clean);

// What fits into `columns`: the whole name, else the short one, else its end after "…", because the end
// distinguishes functions. "" if that would be too short to be recognized.
std::string frame_label(std::string_view clean, std::size_t columns);

// A value in the unit of a call tree, in words: "1 sample", "1.25 s", "4.2 MiB"; or "1,234 " and
// `count_name`.
std::string quantity(std::int64_t value, std::string_view unit, std::string_view count_name);

// "postgres (pid 12)", of more than three targets "postgres (pid 12) and 13 more".
std::string short_target(std::string_view target);

}  // namespace fathom::present
