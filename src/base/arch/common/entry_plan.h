// entry_plan: how a jump is put at the start of a function, and what is left of the start elsewhere. Pure:
// bytes in, bytes out; nothing is written here.
//
// The first instructions, as far as five bytes of jump cover them, are moved into a trampoline, which then
// jumps back behind them. Calling the trampoline is calling the function as it was. What could go wrong
// without being seen is refused: calls among the moved instructions (their return address would lie in the
// trampoline), branches from elsewhere into the bytes that change, instructions that cannot be decoded.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/address.h"
#include "base/result.h"

namespace fathom::arch {

struct MovedInstruction {
  std::uint8_t from, to;  // offset in the function -> offset in the trampoline
  bool operator==(const MovedInstruction&) const = default;
};

struct EntryPlan {
  // The text at patch_address as it must be found, and as it is to be written: the same length, 5 to 16. An
  // endbr64 at the start of the function stays and is not part of it, so patch_address may lie behind it.
  std::vector<std::byte> before, after;
  ProcessAddress patch_address;
  std::vector<std::byte> trampoline;    // at most kTrampolineRoom
  std::vector<MovedInstruction> moved;  // ascending; the first is the one at patch_address
  // One instruction is replaced: no thread can stand between two moved ones, so none has to be moved along.
  bool single_instruction = false;
};

inline constexpr std::size_t kTrampolineRoom = 64, kStubRoom = 16;

// `code`: the bytes of the function as the file has them, all of it, and as much of the known padding behind
// it as possible (a function of less than five bytes needs it). `trampoline`: where its moved start will
// stand. `stub`: where the jump goes. Both within 2 GiB. `entered_at`: offsets other than 0 at which code
// outside the function is known to branch into it. kUnsupported with the reason when in doubt.
Result<EntryPlan> plan_entry(std::span<const std::byte> code, ProcessAddress function,
                             ProcessAddress trampoline, ProcessAddress stub,
                             std::span<const std::uint8_t> entered_at = {});

// A stub: a jump to anywhere. 14 bytes and two that are never reached.
std::array<std::byte, kStubRoom> far_jump(std::uint64_t target);
// Where such a stub leads. nullopt: these bytes are none.
std::optional<std::uint64_t> far_jump_target(std::span<const std::byte> stub);

// The jump to a stub that a plan puts at the start of a function, and the bytes that fill what is left behind it.
inline constexpr std::size_t kPatchedJumpBytes = 5;
inline constexpr std::byte kPatchFiller{0xcc};
// Where code that stands at `at` and begins with such a jump leads. nullopt: it does not.
std::optional<ProcessAddress> patched_jump_target(std::span<const std::byte> code, ProcessAddress at);
// How far away a stub may be.
inline constexpr std::int64_t kPatchedJumpReach = std::int64_t{1} << 31;

}  // namespace fathom::arch
