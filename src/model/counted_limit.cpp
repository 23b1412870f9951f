#include "model/counted_limit.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/parse.h"
#include "base/stable_sort.h"

namespace fathom::model {
namespace {

constexpr std::string_view kFact = "limit.";
constexpr std::array<std::string_view, 6> kKinds{"mappings",      "descriptors",   "tasks",
                                                 "locked-memory", "address-space", "committed"};

}  // namespace

std::string_view to_string(CountedLimit::Kind kind) {
  return kKinds[std::min<std::size_t>(static_cast<std::size_t>(kind), kKinds.size() - 1)];
}

void keep_larger(std::vector<CountedLimit>& kept, std::span<const CountedLimit> seen) {
  for (const CountedLimit& each : seen) {
    const auto same = std::ranges::find(kept, each.kind, &CountedLimit::kind);
    if (same == kept.end())
      kept.push_back(each);
    else if (same->share() < each.share())
      *same = each;
  }
}

std::vector<CountedLimit> near_limits(std::span<const CountedLimit> limits) {
  std::vector<CountedLimit> near;
  std::ranges::copy_if(limits, std::back_inserter(near),
                       [](const CountedLimit& each) { return each.share() >= kNearLimit; });
  stable_sort_rows(near, std::ranges::greater{}, &CountedLimit::share);
  return near;
}

void put_counted_limits(const LimitsOfProcess& limits, std::map<std::string, std::string>& facts) {
  std::string text;
  for (const CountedLimit& each : limits.limits)
    text += fmt::format("{}{} {} {}", text.empty() ? "" : " ", to_string(each.kind), each.used, each.limit);
  if (!text.empty()) facts[fmt::format("{}{}", kFact, limits.pid)] = text;
}

std::vector<LimitsOfProcess> counted_limits_of(const std::map<std::string, std::string>& facts) {
  std::vector<LimitsOfProcess> all;
  for (auto fact = facts.lower_bound(std::string(kFact));
       fact != facts.end() && fact->first.starts_with(kFact); ++fact) {
    const auto pid = parse_number<std::int32_t>(std::string_view(fact->first).substr(kFact.size()));
    if (!pid) continue;
    LimitsOfProcess of{*pid, {}};
    for (std::string_view text = fact->second; !text.empty();) {
      const auto kind = std::ranges::find(kKinds, take_until(text, ' '));
      const auto used = parse_number(take_until(text, ' ')), limit = parse_number(take_until(text, ' '));
      if (kind == kKinds.end() || !used || !limit || *limit == 0) continue;
      const CountedLimit one{static_cast<CountedLimit::Kind>(kind - kKinds.begin()), *used, *limit};
      keep_larger(of.limits, std::span(&one, 1));
    }
    if (!of.limits.empty()) all.push_back(std::move(of));
  }
  std::ranges::sort(all, {}, &LimitsOfProcess::pid);
  return all;
}

}  // namespace fathom::model
