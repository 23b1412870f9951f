// The number of a stack that was walked in user space: a hash of its contents, so equal stacks are reported
// once.
#pragma once

#include <cstdint>

#include "linux/events.h"

namespace fathom::session {

// `salt` sets apart what equal addresses meant at different times, or who walked them.
inline std::uint64_t stack_number(const sources::StackSeen& seen, std::uint64_t salt) {
  std::uint64_t hash = salt;
  const auto add = [&hash](std::uint64_t word) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
    hash ^= hash >> 29;
  };
  add(static_cast<std::uint64_t>(seen.pid));
  add(seen.end);
  for (const std::uint64_t address : seen.kernel) add(address);
  add(seen.kernel.size());
  for (const std::uint64_t address : seen.user) add(address);
  return hash != 0 ? hash : 1;  // 0 means no stack
}

}  // namespace fathom::session
