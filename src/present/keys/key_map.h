// The keys of everything that shows a recording, from one table (key_rules.txt): the helps are made from it, and what a key does
// follows from its name there. The page and the pictures read the same table when they are built (web/build.mjs).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fathom::present {

extern const std::string_view kKeyRulesText;

enum class Surface : std::uint8_t { kPage, kPicture, kTui, kTop, kWatch };

struct KeyRow {
  std::vector<std::string_view> keys;  // one or more: "p", "N", "Space"
  std::string_view name;               // of what it does: "previous"; "-": only in the help
  std::string_view words;              // for the help of this surface
};

// The rows of this surface, in the order of its help.
const std::vector<KeyRow>& keys_of(Surface surface);

// The name of what a key does: "previous" for "N"; "" for a key that the surface does not have.
std::string_view action_of(Surface surface, std::string_view key);
// Of a byte that a terminal sent: a blank is the key "Space".
std::string_view action_of_byte(Surface surface, char byte);

// The first key of what has this name, for a hint in a few words; "" if the surface does not have it.
std::string_view key_for(Surface surface, std::string_view name);

// A line for each row: the keys, and what they do.
std::string keys_help(Surface surface);
// One line for a narrow place: "m metric  o order  / f filter".
std::string keys_line(Surface surface);

}  // namespace fathom::present
