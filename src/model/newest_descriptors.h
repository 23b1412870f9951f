// What most of a process's newest descriptors are, at the end of a recording: "socket", or the path of a file. Fact
// `descriptors.PID` of docs/format.md: how many were asked, how many of these are of that kind, and the kind.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/parse.h"

namespace fathom::model {

struct NewestDescriptors {
  std::uint32_t asked = 0, alike = 0;
  std::string kind = {};
  bool operator==(const NewestDescriptors&) const = default;
};

inline void put_newest_descriptors(std::int32_t pid, const NewestDescriptors& newest,
                                   std::map<std::string, std::string>& facts) {
  facts["descriptors." + std::to_string(pid)] =
      std::to_string(newest.asked) + " " + std::to_string(newest.alike) + " " + newest.kind;
}

// nullopt: they were not read.
inline std::optional<NewestDescriptors> newest_descriptors_of(
    std::int32_t pid, const std::map<std::string, std::string>& facts) {
  const auto fact = facts.find("descriptors." + std::to_string(pid));
  if (fact == facts.end()) return std::nullopt;
  std::string_view text = fact->second;
  const auto asked = parse_number<std::uint32_t>(take_until(text, ' ')),
             alike = parse_number<std::uint32_t>(take_until(text, ' '));
  if (!asked || !alike || *alike > *asked || text.empty()) return std::nullopt;
  return NewestDescriptors{*asked, *alike, std::string(text)};
}

}  // namespace fathom::model
