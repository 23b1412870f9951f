#include "tools/flight/growth_kind.h"

#include <algorithm>
#include <utility>

namespace fathom::flight {
namespace {

constexpr double kLeastGrowth = 4 << 20, kLeastGrowthShare = 0.02;
constexpr double kMost = 0.5;           // a part reported as the reason explains more than half
constexpr double kHardlyFreed = 0.05;   // of a leak's blocks
constexpr double kSlowsDown = 0.6;      // the last third of the window, of the mean third
constexpr double kDatabaseFaults = 20;  // a second, from the disk

double grew(const std::optional<Change>& change) {
  return change ? change->grew : 0;
}

// What anonymous memory consists of that grew.
GrowthVerdict classify_anonymous(const GrowthFacts& facts) {
  const double all = facts.anonymous.grew;
  GrowthVerdict verdict;
  verdict.kind = GrowthKind::kAnonymous;
  const double live = grew(facts.live) / all;
  if (facts.live && live >= kMost) {
    verdict.explained = live;
    // A queue that fills faster than it empties and a vector that is copied into a larger one free much, too.
    // Only slowing growth identifies a cache that fills.
    const bool slows_down = facts.late_share && *facts.late_share < kSlowsDown;
    const bool hardly_freed = facts.freed_share.value_or(0) <= kHardlyFreed;
    verdict.kind = slows_down     ? GrowthKind::kFilling
                   : hardly_freed ? GrowthKind::kLeak
                                  : GrowthKind::kGrowing;
    const bool clear = slows_down ? !hardly_freed : hardly_freed;
    const bool fits = live <= 1.25 && live >= 0.75 && facts.live_error <= 0.25 * all;
    verdict.sureness = clear && fits ? Sureness::kHigh : Sureness::kMedium;
    return verdict;
  }
  // Huge pages are a part of what the allocator holds, so they are asked first.
  const std::pair<double, GrowthKind> parts[] = {{grew(facts.huge), GrowthKind::kHugePages},
                                                 {grew(facts.slack), GrowthKind::kRetained},
                                                 {grew(facts.mapped), GrowthKind::kMapped}};
  for (const auto& [part, kind] : parts) {
    if (part / all < kMost) continue;
    // Blocks that are live on them are no rounding.
    if (kind == GrowthKind::kHugePages && (!facts.slack || grew(facts.slack) / all < kMost)) continue;
    verdict.kind = kind;
    verdict.explained = part / all;
    verdict.sureness = facts.live ? Sureness::kHigh : Sureness::kMedium;
    return verdict;
  }
  return verdict;
}

}  // namespace

std::string_view to_string(GrowthKind kind) {
  switch (kind) {
    case GrowthKind::kNone:
      return "none";
    case GrowthKind::kLeak:
      return "leak";
    case GrowthKind::kGrowing:
      return "growing";
    case GrowthKind::kFilling:
      return "filling";
    case GrowthKind::kRetained:
      return "retained";
    case GrowthKind::kHugePages:
      return "huge-pages";
    case GrowthKind::kMapped:
      return "mapped";
    case GrowthKind::kAnonymous:
      return "anonymous";
    case GrowthKind::kShared:
      return "shared";
    case GrowthKind::kPageTables:
      return "page-tables";
    case GrowthKind::kPageCache:
      return "page-cache";
    case GrowthKind::kMappedDatabase:
      break;
  }
  return "mapped-database";
}

std::string_view to_string(Sureness sureness) {
  return sureness == Sureness::kHigh ? "high" : sureness == Sureness::kMedium ? "medium" : "low";
}

GrowthVerdict classify(const GrowthFacts& facts) {
  const std::pair<double, GrowthKind> all[] = {{facts.anonymous.grew, GrowthKind::kAnonymous},
                                               {facts.file.grew, GrowthKind::kMappedDatabase},
                                               {facts.shared.grew, GrowthKind::kShared},
                                               {facts.page_tables.grew, GrowthKind::kPageTables},
                                               {grew(facts.page_cache), GrowthKind::kPageCache}};
  double sum = 0;
  for (const auto& part : all) sum += std::max(0.0, part.first);
  const double at_end = facts.anonymous.at_end + facts.file.at_end + facts.shared.at_end +
                        facts.page_tables.at_end + (facts.page_cache ? facts.page_cache->at_end : 0);
  GrowthVerdict verdict;
  if (sum < kLeastGrowth || sum < kLeastGrowthShare * at_end || !(facts.window_s > 0)) {
    verdict.sureness = facts.window_s >= 10 ? Sureness::kHigh : Sureness::kLow;
    return verdict;
  }
  const auto most = std::ranges::max_element(all, {}, [](const auto& part) { return part.first; });
  if (most->second == GrowthKind::kAnonymous)
    verdict = classify_anonymous(facts);
  else
    verdict = {most->second, Sureness::kMedium, 0, 0, 1};
  verdict.grew = most->first;
  verdict.of_all = most->first / sum;
  if (verdict.kind == GrowthKind::kMappedDatabase && facts.major_faults_per_s)
    verdict.sureness = *facts.major_faults_per_s >= kDatabaseFaults ? Sureness::kHigh : Sureness::kMedium;
  if (verdict.kind == GrowthKind::kPageTables && verdict.of_all > 0.75) verdict.sureness = Sureness::kHigh;
  // Half a second shows what grew, but not how it will continue.
  if (facts.window_s < 0.5 || verdict.of_all < 0.6)
    verdict.sureness = Sureness::kLow;
  else if (facts.window_s < 1.5)
    verdict.sureness = std::min(verdict.sureness, Sureness::kMedium);
  return verdict;
}

Headroom headroom_of(const GrowthFacts& facts, const GrowthVerdict& verdict, double limit,
                     double per_second) {
  Headroom headroom;
  headroom.needed = facts.anonymous.at_end + facts.shared.at_end + facts.page_tables.at_end;
  if (headroom.needed <= 0) return headroom;
  switch (verdict.kind) {
    case GrowthKind::kNone:
      headroom.kind = HeadroomKind::kNeedsAtOnce;
      return headroom;
    case GrowthKind::kPageCache:
    case GrowthKind::kMappedDatabase:
      headroom.kind = HeadroomKind::kGivesWay;
      return headroom;
    case GrowthKind::kFilling:
      headroom.kind = HeadroomKind::kLevelsOff;
      return headroom;
    default:
      break;
  }
  // What grew for a moment, or is not known, may also have been all that it needs.
  if (per_second <= 0 || verdict.sureness == Sureness::kLow) return headroom;
  headroom.kind = HeadroomKind::kNoneHelps;
  headroom.seconds_at_twice = limit / per_second;
  return headroom;
}

}  // namespace fathom::flight
