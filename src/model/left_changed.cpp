#include "model/left_changed.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

namespace fathom::model {
namespace {

constexpr std::string_view kLeft = "left.", kImpossible = "impossible.";
constexpr std::array<std::string_view, 5> kReasons{"debugger", "frozen", "changed", "thread-inside", "other"};

template <class Number>
std::optional<Number> number(std::string_view text) {
  Number value{};
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || read.ec != std::errc{} || read.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string_view next_word(std::string_view& text) {
  const auto word = text.substr(0, text.find(' '));
  text.remove_prefix(std::min(text.size(), word.size() + 1));
  return word;
}

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
    const auto pid = number<std::int32_t>(std::string_view(fact->first).substr(kLeft.size()));
    const auto reason = std::ranges::find(kReasons, next_word(text));
    const auto by = number<std::int32_t>(next_word(text));
    const auto places = number<std::uint64_t>(next_word(text)),
               bytes = number<std::uint64_t>(next_word(text)),
               mapped = number<std::uint64_t>(next_word(text));
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
  return fact == facts.end() ? 0 : number<std::uint64_t>(fact->second).value_or(0);
}

}  // namespace fathom::model
