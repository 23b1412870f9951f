// Where in the target's address space the tracer's mappings go. Pure.
//
// Addresses are chosen here, and not by the target's kernel, so that they can be written down before the
// mapping is made. The middle of a gap is chosen: what grows (heap upwards, mappings and stacks downwards)
// has farthest to go.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/address.h"
#include "base/arch/facts.h"
#include "linux/process/maps.h"

namespace fathom::inject {

inline constexpr std::uint64_t kPage = arch::kPageBytes;
constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t to = kPage) {
  return (value + to - 1) / to * to;
}

// Between the tracer's own mappings, which stand in a row: image, state, shared memory. So the kernel never
// joins two, and a later fathom finds the others by one.
inline constexpr std::uint64_t kApart = 16 * kPage;

struct AddressRange {
  ProcessAddress start, end;
};

// Room for `bytes` in a gap between `maps`, inside `within`; page-aligned, and at least a page away from
// everything. nullopt if there is none.
std::optional<ProcessAddress> find_room(std::span<const process::MapEntry> maps, std::uint64_t bytes,
                                        AddressRange within);

// Where code must stand so that a patched jump (base/arch/common/entry_plan.h) reaches from there all of `module`, and
// back.
AddressRange in_reach(AddressRange module, std::uint64_t bytes);

}  // namespace fathom::inject
