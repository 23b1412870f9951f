#include "present/keys/key_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/parse.h"

namespace fathom::present {
namespace {

constexpr std::size_t kSurfaces = 5;

std::string_view trimmed_cell(std::string_view cell) {
  const std::size_t from = cell.find_first_not_of(' ');
  if (from == cell.npos) return "";
  return cell.substr(from, cell.find_last_not_of(' ') - from + 1);
}

std::array<std::vector<KeyRow>, kSurfaces> read_keys(std::string_view text) {
  std::array<std::vector<KeyRow>, kSurfaces> out;
  while (!text.empty()) {
    std::string_view line = take_until(text, '\n');
    if (line.empty() || line.front() == '#') continue;
    std::string_view cell = trimmed_cell(take_until(line, '|'));
    KeyRow row;
    while (!cell.empty()) {
      if (const std::string_view key = take_until(cell, ' '); !key.empty()) row.keys.push_back(key);
    }
    row.name = trimmed_cell(take_until(line, '|'));
    for (std::vector<KeyRow>& rows : out) {
      row.words = trimmed_cell(take_until(line, '|'));
      if (!row.words.empty()) rows.push_back(row);
    }
  }
  return out;
}

}  // namespace

const std::vector<KeyRow>& keys_of(Surface surface) {
  static const std::array<std::vector<KeyRow>, kSurfaces> kRows = read_keys(kKeyRulesText);
  return kRows[static_cast<std::size_t>(surface)];
}

std::string_view action_of(Surface surface, std::string_view key) {
  for (const KeyRow& row : keys_of(surface))
    if (row.name != "-" && std::find(row.keys.begin(), row.keys.end(), key) != row.keys.end())
      return row.name;
  return "";
}

std::string_view action_of_byte(Surface surface, char byte) {
  return action_of(surface, byte == ' ' ? std::string_view("Space") : std::string_view(&byte, 1));
}

std::string_view key_for(Surface surface, std::string_view name) {
  for (const KeyRow& row : keys_of(surface))
    if (row.name == name) return row.keys.front();
  return "";
}

std::string keys_help(Surface surface) {
  std::string text;
  for (const KeyRow& row : keys_of(surface)) {
    // Ten digits are a range.
    const std::string keys = row.keys.size() > 4 ? fmt::format("{} ... {}", row.keys.front(), row.keys.back())
                                                 : fmt::format("{}", fmt::join(row.keys, " "));
    text += fmt::format("  {:<10} {}\n", keys, row.words);
  }
  return text;
}

std::string keys_line(Surface surface) {
  std::string line;
  std::vector<std::string_view> said;
  const std::vector<KeyRow>& rows = keys_of(surface);
  for (const KeyRow& row : rows) {
    if (std::find(said.begin(), said.end(), row.words) != said.end()) continue;
    said.push_back(row.words);
    if (!line.empty()) line += "  ";
    for (const KeyRow& other : rows)
      if (other.words == row.words) line += fmt::format("{} ", fmt::join(other.keys, " "));
    line += row.words;
  }
  return line;
}

}  // namespace fathom::present
