// Where a function can be left: the places to watch to time its calls. A breakpoint there needs no return
// address replaced, so the stack stays intact for all stack walkers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace fathom::arch {

struct CodePart {
  std::span<const std::byte> code;
  std::uint64_t start = 0;  // address
  bool contains(std::uint64_t address) const { return address - start < code.size(); }
};

struct FunctionEnd {
  std::uint64_t address = 0;
  bool returns = false;  // else it jumps into another function, whose result will be the caller's
  std::uint8_t condition =
      0;  // the processor's number of it, as jump_is_taken of base/arch/kernel_registers.h asks
  bool is_conditional = false;
  std::uint64_t target = 0;  // of a jump whose target is in the code
  bool operator==(const FunctionEnd&) const = default;
};

struct FunctionEnds {
  std::vector<FunctionEnd> ends;  // in the order of the code
  // Jumps to an address outside the code: into a table of the function's own, or into another function. The
  // unwind table knows more: code that still has a frame does not leave.
  struct OpenJump {
    std::uint64_t address = 0;
    bool leaves = false;  // if it is not within a frame: the look of a call through a table of functions
    bool operator==(const OpenJump&) const = default;
  };
  std::vector<OpenJump> open_jumps;
  bool restarts = false;  // it jumps to its own start: each round is a call
  std::string problem;    // why nothing is known; else empty
};

// `parts`: the function, and its pieces that a compiler moved elsewhere. All of their bytes must be
// instructions, and jumps inside must lead to the start of one: a breakpoint in the middle of an instruction
// or in data would change the program's behavior.
FunctionEnds function_ends(std::span<const CodePart> parts);

}  // namespace fathom::arch
