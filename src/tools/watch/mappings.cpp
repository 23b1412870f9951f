#include "tools/watch/mappings.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <utility>

#include "base/stable_sort.h"
#include "record/session/memory/held_memory.h"

namespace fathom::watch {
namespace {

constexpr std::array<std::pair<std::string_view, MappingOrder>, 8> kOrders{{
    {"resident", MappingOrder::kResident},
    {"pss", MappingOrder::kPss},
    {"own", MappingOrder::kOwn},
    {"dirty", MappingOrder::kDirty},
    {"swapped", MappingOrder::kSwapped},
    {"virtual", MappingOrder::kVirtual},
    {"address", MappingOrder::kAddress},
    {"change", MappingOrder::kChange},
}};

const process::MapEntry& entry_of(const WatchedMapping& mapping) {
  return mapping.judged.mapping.entry;
}

bool are_one(const WatchedMapping& before, const WatchedMapping& after) {
  const process::MapEntry& old = entry_of(before);
  const process::MapEntry& now = entry_of(after);
  return old.start < now.end && now.start < old.end && old.inode == now.inode && old.shared == now.shared &&
         old.writable == now.writable && old.executable == now.executable;
}

// Explicit huge pages are in memory, too.
std::uint64_t in_memory(const WatchedMapping& mapping) {
  return mapping.judged.mapping.rss + mapping.judged.mapping.huge_file;
}

std::uint64_t size_by(const WatchedMapping& mapping, MappingOrder order) {
  switch (order) {
    case MappingOrder::kPss:
      return mapping.sharing ? mapping.sharing->proportional : 0;
    case MappingOrder::kOwn:
      return mapping.judged.mapping.anonymous;
    case MappingOrder::kDirty:
      return mapping.sharing ? mapping.sharing->dirty : 0;
    case MappingOrder::kSwapped:
      return mapping.judged.mapping.swap;
    case MappingOrder::kVirtual:
      return entry_of(mapping).size();
    case MappingOrder::kChange:
      return static_cast<std::uint64_t>(std::llabs(mapping.change.value_or(0)));
    case MappingOrder::kResident:
    case MappingOrder::kAddress:
      break;
  }
  return in_memory(mapping);
}

}  // namespace

void name_allocators(const allocators::AllocatorStates& states, const sources::ResidentPages& pages,
                     std::vector<WatchedMapping>& mappings) {
  const allocators::AddressRanges present = session::present_of(pages);
  for (WatchedMapping& mapping : mappings) {
    const std::uint64_t start = entry_of(mapping).start.value, end = entry_of(mapping).end.value;
    std::uint64_t most = 0;
    for (std::size_t i = 0; i < states.allocators.size(); ++i) {
      const allocators::AllocatorState& state = states.allocators[i];
      if (state.certainty == allocators::Certainty::kUnknown) continue;
      std::uint64_t held = 0;
      auto range = std::ranges::upper_bound(state.ranges, start, {}, &allocators::HeldRange::end);
      for (; range != state.ranges.end() && range->start < end; ++range)
        held += present.bytes_in(std::max(range->start, start), std::min(range->end, end));
      mapping.allocator_bytes += held;
      if (held <= most) continue;
      most = held;
      mapping.allocator = session::held_label(states, i);
    }
  }
}

void add_sharing(std::span<const sources::MemoryMapping> smaps, std::vector<WatchedMapping>& mappings) {
  std::map<std::uint64_t, const sources::MemoryMapping*> by_start;
  for (const sources::MemoryMapping& mapping : smaps) by_start[mapping.entry.start.value] = &mapping;
  for (WatchedMapping& mapping : mappings)
    if (const auto same = by_start.find(entry_of(mapping).start.value); same != by_start.end())
      mapping.sharing = {same->second->proportional, same->second->dirty};
}

std::vector<WatchedMapping> changed_mappings(std::span<const WatchedMapping> before,
                                             std::vector<WatchedMapping> after) {
  std::vector<bool> is_there(before.size(), false);
  for (WatchedMapping& now : after) {
    auto change = static_cast<std::int64_t>(now.judged.mapping.rss);
    for (std::size_t i = 0; i < before.size(); ++i) {
      if (is_there[i] || !are_one(before[i], now)) continue;
      is_there[i] = true;
      change -= static_cast<std::int64_t>(before[i].judged.mapping.rss);
    }
    now.change = change;
  }
  std::erase_if(after, [](const WatchedMapping& now) { return now.change == 0; });
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (is_there[i] || before[i].judged.mapping.rss == 0) continue;
    WatchedMapping& gone = after.emplace_back(before[i]);
    gone.change = -static_cast<std::int64_t>(before[i].judged.mapping.rss);
    gone.judged.mapping.rss = gone.judged.mapping.anonymous = gone.judged.mapping.swap = 0;
    gone.judged.mapping.huge = gone.judged.mapping.huge_file = gone.allocator_bytes = 0;
    gone.sharing.reset();
  }
  return after;
}

std::optional<MappingOrder> mapping_order_from(std::string_view name) {
  const auto known = std::ranges::find(kOrders, name, &std::pair<std::string_view, MappingOrder>::first);
  return known == kOrders.end() ? std::nullopt : std::optional(known->second);
}

std::vector<std::string> names_of_mapping_orders() {
  std::vector<std::string> names;
  for (const auto& order : kOrders) names.emplace_back(order.first);
  return names;
}

void sort_mappings(std::vector<WatchedMapping>& mappings, MappingOrder order) {
  stable_sort_rows(mappings, [&](const WatchedMapping& a, const WatchedMapping& b) {
    if (order == MappingOrder::kAddress) return entry_of(a).start < entry_of(b).start;
    const std::array sizes_a{size_by(a, order), in_memory(a), entry_of(a).size()},
        sizes_b{size_by(b, order), in_memory(b), entry_of(b).size()};
    return sizes_a > sizes_b;
  });
}

}  // namespace fathom::watch
