// What a thread may do beyond its user: Linux capabilities. Source: capabilities(7). They belong to each
// thread by itself: a thread that was started before others gave theirs up still has its own.
#pragma once

#include <cstdint>

#include "base/result.h"

namespace fathom {

// Bit n is capability n of linux/capability.h.
using CapabilitySet = std::uint64_t;

constexpr CapabilitySet capability(int number) {
  return CapabilitySet{1} << number;
}

// Those of the calling thread that are in effect.
CapabilitySet own_capabilities();

// The calling thread keeps those of `kept` that it has and drops the rest permanently: even executing a file
// of root's does not restore them (the bounding set is cut, if the thread may do so).
Result<> keep_capabilities(CapabilitySet kept);

}  // namespace fathom
