// Where the return address and the saved rbp of a function are, from one instruction to the next: what rsp and rbp mean, and
// what an instruction does to that. prologue.cpp follows all paths of a function with it.
#pragma once

#include <Zydis/Zydis.h>

#include <cstdint>
#include <optional>

#include "base/abi/unwind_table.h"

namespace fathom::arch::frame {

// Where things are before an instruction. Offsets count from the CFA downwards, so they are positive.
struct State {
  bool rsp_known = true;
  std::int64_t rsp_depth = 8;  // CFA - rsp: at the entry, there is the return address
  bool rbp_is_frame = false;
  std::int64_t rbp_depth = 0;  // CFA - rbp
  bool rbp_saved = false;
  std::int64_t saved_depth = 0;  // CFA - address of the caller's rbp
  bool rbp_is_callers = true;    // nothing has been written to it, or it was restored
  bool operator==(const State&) const = default;
};

struct PrologueInstruction {
  ZydisDecodedInstruction decoded;
  ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];

  bool is_register(unsigned index, ZydisRegister reg) const {
    return operands[index].type == ZYDIS_OPERAND_TYPE_REGISTER && operands[index].reg.value == reg;
  }
  bool is_immediate(unsigned index) const { return operands[index].type == ZYDIS_OPERAND_TYPE_IMMEDIATE; }
  // [base + displacement], nothing else
  bool is_memory(unsigned index, ZydisRegister base) const {
    return operands[index].type == ZYDIS_OPERAND_TYPE_MEMORY && operands[index].mem.base == base &&
           operands[index].mem.index == ZYDIS_REGISTER_NONE;
  }
  std::int64_t displacement(unsigned index) const {
    return operands[index].mem.disp.has_displacement ? operands[index].mem.disp.value : 0;
  }
  bool writes(ZydisRegister whole) const;
};

// Equal states compare equal: what is not known has no value.
State normal(State state);
// What holds on both of two paths that meet. nullopt: they contradict each other.
std::optional<State> meet(const State& a, const State& b);
// What the instruction does to rsp and rbp. False: it cannot be followed.
bool apply(const PrologueInstruction& in, State& state);
// Can the caller be found from here?
bool sound(const State& state);
unwind_rule rule_of(const State& state);

}  // namespace fathom::arch::frame
