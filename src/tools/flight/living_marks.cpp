#include "tools/flight/living_marks.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "analysis/core/words.h"
#include "base/parse.h"
#include "present/text/text_table.h"
#include "tools/flight/death.h"

namespace fathom::flight {
namespace {

constexpr std::size_t kMostShown = 5;

std::vector<std::string_view> mark_lines(const model::Profile& profile) {
  std::vector<std::string_view> lines;
  const auto fact = profile.meta.facts.find(kMarksFact);
  std::string_view text = fact == profile.meta.facts.end() ? std::string_view() : fact->second;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (end != 0) lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

// Those that the recorder has dropped count as well.
std::uint64_t earlier_marks(const model::Profile& profile) {
  const auto fact = profile.meta.facts.find(kEarlierMarksFact);
  return fact == profile.meta.facts.end() ? 0 : parse_number(fact->second).value_or(0);
}

}  // namespace

std::string with_marks(std::string text, const model::Profile& profile, std::size_t width) {
  const std::vector<std::string_view> lines = mark_lines(profile);
  if (lines.empty()) return text;
  const std::uint64_t all = lines.size() + earlier_marks(profile);
  std::string paragraph = fmt::format("Marks of the flight recorder{}:\n",
                                      all <= kMostShown ? "" : fmt::format(", the last of {}", all));
  for (std::size_t i = lines.size() - std::min(kMostShown, lines.size()); i < lines.size(); ++i)
    paragraph += present::fill("  ", analysis::printable(lines[i]), width, 4);
  const std::size_t end = text.find("\n\n");
  if (end == std::string::npos) return text + "\n" + paragraph;
  return text.insert(end + 2, paragraph + "\n");
}

void add_marks(nlohmann::ordered_json& json, const model::Profile& profile) {
  for (const std::string_view line : mark_lines(profile))
    json["flight_marks"].push_back(analysis::valid_utf8(std::string(line)));
}

}  // namespace fathom::flight
