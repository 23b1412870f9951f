// Chooses addresses for the tracer's mappings in the target. Pure.
//
// fathom chooses the addresses instead of the kernel, so that it can write them to the journal before it
// creates the mapping. It takes the middle of a gap: this leaves the most room for the heap to grow upwards,
// and for mappings and stacks to grow downwards.
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

// Distance between the tracer's own mappings, which are in a row: image, state, shared memory. It keeps the
// kernel from joining two of them, and a later fathom finds the others from one.
inline constexpr std::uint64_t kApart = 16 * kPage;

struct AddressRange {
  ProcessAddress start, end;
};

// Room for `bytes` in a gap between `maps`, inside `within`; page-aligned, and at least a page away from any
// mapping. nullopt if there is none.
std::optional<ProcessAddress> find_room(std::span<const process::MapEntry> maps, std::uint64_t bytes,
                                        AddressRange within);

// The range where code must be so that a patched jump (base/arch/common/entry_plan.h) can reach all of `module`
// from there, and back.
AddressRange in_reach(AddressRange module, std::uint64_t bytes);

}  // namespace fathom::inject
