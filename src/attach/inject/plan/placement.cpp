#include "attach/inject/plan/placement.h"

#include <algorithm>

#include "base/arch/common/entry_plan.h"
#include "base/arch/facts.h"

namespace fathom::inject {
namespace {

// Lower addresses are subject to mmap_min_addr.
constexpr std::uint64_t kLowest = 0x100000;
constexpr std::uint64_t kHighest = arch::kUserEnd;
constexpr std::int64_t kReach = arch::kPatchedJumpReach;

}  // namespace

std::optional<ProcessAddress> find_room(std::span<const process::MapEntry> maps, std::uint64_t bytes,
                                        AddressRange within) {
  bytes = round_up(bytes);
  std::optional<ProcessAddress> best;
  std::uint64_t best_distance = 0;
  const auto look_at = [&](std::uint64_t gap_start, std::uint64_t gap_end) {
    const auto low = std::max(gap_start + kPage, round_up(within.start.value));
    const auto high = std::min(gap_end - std::min(gap_end, kPage), within.end.value);
    if (high < low || high - low < bytes) return;
    const auto start = low + (high - low - bytes) / 2 / kPage * kPage;
    const auto distance = std::min(start - gap_start, gap_end - (start + bytes));
    if (best && distance <= best_distance) return;
    best = ProcessAddress{start};
    best_distance = distance;
  };
  std::uint64_t free_from = kLowest;
  for (const auto& entry : maps) {
    if (entry.start.value > free_from) look_at(free_from, std::min(entry.start.value, kHighest));
    free_from = std::max(free_from, entry.end.value);
  }
  if (free_from < kHighest) look_at(free_from, kHighest);
  return best;
}

AddressRange in_reach(AddressRange module, std::uint64_t bytes) {
  // One page less on both sides: displacements count from the end of an instruction.
  const auto reach = static_cast<std::uint64_t>(kReach) - kPage - round_up(bytes);
  const auto start = module.end.value > reach ? module.end.value - reach : 0;
  return {{start}, {module.start.value + reach}};
}

}  // namespace fathom::inject
