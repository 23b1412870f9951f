#include "model/marks.h"

#include <fmt/format.h>

#include <charconv>

#include "base/parse.h"
#include "base/stable_sort.h"

namespace fathom::model {
namespace {

constexpr std::string_view kAfterTime = " s: ";
constexpr const char* kFlightMarksFact = "flight_marks";  // the same lines, with the reason as the name
constexpr std::size_t kMostPhases = 10'000;
constexpr double kMostSeconds = 1e9;

void add(std::vector<Phase>& phases, std::string_view text) {
  while (!text.empty() && phases.size() < kMostPhases) {
    const std::string_view line = take_until(text, '\n');
    Phase phase;
    const auto [stop, error] = std::from_chars(line.data(), line.data() + line.size(), phase.from_s);
    const std::string_view rest(stop, static_cast<std::size_t>(line.data() + line.size() - stop));
    if (error != std::errc{} || !rest.starts_with(kAfterTime) || !(phase.from_s >= 0) ||
        phase.from_s > kMostSeconds)
      continue;
    phase.name = rest.substr(kAfterTime.size());
    if (!phase.name.empty()) phases.push_back(std::move(phase));
  }
}

}  // namespace

std::vector<Phase> phases_of(const Profile& profile) {
  std::vector<Phase> phases;
  for (const char* key : {kMarksFact, kFlightMarksFact}) {
    if (const auto fact = profile.meta.facts.find(key); fact != profile.meta.facts.end())
      add(phases, fact->second);
  }
  stable_sort_rows(phases, {}, &Phase::from_s);
  for (std::size_t i = 0; i + 1 < phases.size(); ++i) phases[i].to_s = phases[i + 1].from_s;
  return phases;
}

std::string mark_line(double at_s, std::string_view name) {
  return fmt::format("{:.3f}{}{}", at_s, kAfterTime, name);
}

}  // namespace fathom::model
