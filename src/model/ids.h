// Row numbers of the model's tables, and other small numbers that all of them use.
#pragma once

#include <compare>
#include <cstdint>

namespace fathom::model {

// A row number in one table. Ids of different tables do not mix.
template <class Tag>
struct Id {
  std::uint32_t value = 0;
  auto operator<=>(const Id&) const = default;
};
using StringId = Id<struct StringTag>;  // 0 is ""
using ModuleId = Id<struct ModuleTag>;  // 0 is "no module known"
using FunctionId = Id<struct FunctionTag>;
using FrameId = Id<struct FrameTag>;
using StackId = Id<struct StackTag>;  // 0 is the empty stack
using ProcessId = Id<struct ProcessTag>;
using ThreadId = Id<struct ThreadTag>;
inline constexpr ThreadId kNoThread{UINT32_MAX};

// How the walk of a stack ended. The numbers are those of base/abi/walk.h and of docs/format.md.
using WalkEnd = std::uint8_t;

}  // namespace fathom::model
