#include "model/left_changed.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/parse.h"

namespace fathom::model {
namespace {

constexpr std::string_view kLeft = "left.", kImpossible = "impossible.";
constexpr std::array<std::string_view, 5> kReasons{"debugger", "frozen", "changed", "thread-inside", "other"};

}  // namespace

std::string_view to_string(LeftChanged::Reason reason) {
  return kReasons[std::min<std::size_t>(static_cast<std::size_t>(reason), kReasons.size() - 1)];
}

void put_left_changed(const LeftChanged& left, Facts& facts) {
  facts[fmt::format("{}{}", kLeft, left.pid)] = fmt::format("{} {} {} {} {}", to_string(left.reason), left.by,
                                                            left.places, left.bytes, left.mapped_bytes);
}

std::vector<LeftChanged> left_changed_of(const Facts& facts) {
  std::vector<LeftChanged> all;
  for (auto fact = facts.lower_bound(std::string(kLeft));
       fact != facts.end() && fact->first.starts_with(kLeft); ++fact) {
    std::string_view text = fact->second;
    const auto pid = parse_number<std::int32_t>(std::string_view(fact->first).substr(kLeft.size()));
    const auto reason = std::ranges::find(kReasons, take_until(text, ' '));
    const auto by = parse_number<std::int32_t>(take_until(text, ' '));
    const auto places = parse_number(take_until(text, ' ')), bytes = parse_number(take_until(text, ' ')),
               mapped = parse_number(take_until(text, ' '));
    if (!pid || reason == kReasons.end() || !by || !places || !bytes || !mapped) continue;
    all.push_back(
        {*pid, static_cast<LeftChanged::Reason>(reason - kReasons.begin()), *by, *places, *bytes, *mapped});
  }
  std::ranges::sort(all, {}, &LeftChanged::pid);
  return all;
}

void put_impossible_events(std::int32_t pid, std::uint64_t events, Facts& facts) {
  if (events != 0) facts[fmt::format("{}{}", kImpossible, pid)] = std::to_string(events);
}

std::uint64_t impossible_events_of(std::int32_t pid, const Facts& facts) {
  const auto fact = facts.find(fmt::format("{}{}", kImpossible, pid));
  return fact == facts.end() ? 0 : parse_number(fact->second).value_or(0);
}

}  // namespace fathom::model
