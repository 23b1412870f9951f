// The call frame instructions, executed: where the CFA and the tracked registers' values are, for each place
// in a function. Source: DWARF 5 section 6.4.2. Only the registers that a stack walk follows are tracked
// (tracked_registers.h); instructions for others are read and forgotten.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/cursor.h"
#include "binary/dwarf/frame_section.h"
#include "binary/dwarf/tracked_registers.h"

namespace fathom::dwarf {

struct RegisterRule {
  enum class Kind : std::uint8_t {
    kUnspecified,
    kSameValue,
    kUndefined,
    kOffset,           // saved at CFA + offset
    kValueOffset,      // is CFA + offset
    kRegister,         // is in another register
    kExpression,       // saved at the address that the expression gives
    kValueExpression,  // is what the expression gives
  };
  Kind kind = Kind::kUnspecified;
  std::int64_t offset = 0;
  std::span<const std::byte> expression;
};

struct CfaRule {
  enum class Kind : std::uint8_t { kUnspecified, kRegister, kExpression };
  Kind kind = Kind::kUnspecified;
  std::uint64_t register_number = 0;
  std::int64_t offset = 0;
  std::span<const std::byte> expression;
};

struct FrameState {
  CfaRule cfa;
  std::array<RegisterRule, kTrackedRegisters> registers;  // by TrackedRegister
};

// Runs one function's program, row by row. Reusable: the memory of one run serves the next.
class CfaProgram {
 public:
  // What a CIE's own program says: the first row of all its functions. nullopt: the program is broken.
  std::optional<FrameState> initial_state(const Cie& cie);

  // `initial` and the FDE's CIE outlive the run: DW_CFA_restore goes back to the first.
  void start(const Fde& fde, const FrameState& initial);

  // The next row; false after the last. A row starts at offset() and lasts until the next row or the
  // function's end.
  bool next_row();
  std::uint64_t offset() const { return row_offset_; }  // bytes from the function's start
  const FrameState& state() const { return state_; }
  bool changed() const { return changed_; }  // state() may differ from the row before
  // The program is broken or uses undefined operations: everything from offset() is unknown. Always the last
  // row.
  bool broken() const { return broken_; }

 private:
  enum class Step : std::uint8_t { kGoOn, kMoved, kBroken };
  void reset(const Cie& cie, std::span<const std::byte> program, std::uint64_t program_address);
  Step execute();
  Step execute_extended(std::uint8_t opcode);
  Step move_by(std::uint64_t factored_delta);
  Step move_to(std::uint64_t address);
  Step define_cfa(std::uint64_t register_number, std::int64_t offset);
  Step set(std::uint64_t register_number, const RegisterRule& rule);
  Step restore(std::uint64_t register_number);
  std::int64_t factored(std::int64_t offset) const;

  Cursor in_{std::span<const std::byte>{}};
  const Cie* cie_ = nullptr;
  const FrameState* initial_ = nullptr;
  std::uint64_t start_ = 0, size_ = 0, program_address_ = 0;
  std::uint64_t location_ = 0;    // of the instructions being executed, from the function's start
  std::uint64_t row_offset_ = 0;  // of the row given out
  bool changed_ = false, broken_ = false, done_ = false;
  FrameState state_;
  std::vector<FrameState> remembered_;
};

}  // namespace fathom::dwarf
