#include "base/arch/x86_64/code/frame_state.h"

namespace fathom::arch::frame {

static constexpr std::int64_t kLargestFrame = std::int64_t{1} << 30;  // bytes

bool PrologueInstruction::writes(ZydisRegister whole) const {
  for (unsigned i = 0; i < decoded.operand_count; ++i) {
    const ZydisDecodedOperand& operand = operands[i];
    if (operand.type == ZYDIS_OPERAND_TYPE_REGISTER &&
        (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0 &&
        ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, operand.reg.value) == whole)
      return true;
  }
  return false;
}

State normal(State state) {
  if (!state.rsp_known) state.rsp_depth = 0;
  if (!state.rbp_is_frame) state.rbp_depth = 0;
  if (!state.rbp_saved) state.saved_depth = 0;
  return state;
}

std::optional<State> meet(const State& a, const State& b) {
  if (a.rbp_saved != b.rbp_saved || a.saved_depth != b.saved_depth) return std::nullopt;
  State both = a;
  both.rsp_known = a.rsp_known && b.rsp_known && a.rsp_depth == b.rsp_depth;
  both.rbp_is_frame = a.rbp_is_frame && b.rbp_is_frame && a.rbp_depth == b.rbp_depth;
  both.rbp_is_callers = a.rbp_is_callers && b.rbp_is_callers;
  if (!both.rsp_known && !both.rbp_is_frame) return std::nullopt;
  return normal(both);
}

static bool plausible(std::int64_t depth) {
  return depth >= 8 && depth <= kLargestFrame;
}

static void write_unknown_rbp(State& state) {
  state.rbp_is_frame = false;
  state.rbp_is_callers = false;
}

static void restore_rbp(State& state) {
  state.rbp_is_frame = state.rbp_saved = false;
  state.rbp_is_callers = true;
}

static void push(State& state, bool rbp) {
  state.rsp_depth += 8;
  if (rbp && state.rbp_is_callers && !state.rbp_saved) {
    state.rbp_saved = true;
    state.saved_depth = state.rsp_depth;
  }
}

static void pop(State& state, bool rbp) {
  const std::int64_t from = state.rsp_depth;
  state.rsp_depth -= 8;
  if (!rbp) return;
  if (state.rbp_saved && state.saved_depth == from) {
    restore_rbp(state);
  } else {
    write_unknown_rbp(state);
  }
}

bool apply(const PrologueInstruction& in, State& state) {
  const bool wide = in.decoded.operand_width == 64;
  switch (in.decoded.mnemonic) {
    case ZYDIS_MNEMONIC_PUSH:
    case ZYDIS_MNEMONIC_PUSHFQ:
      if (!wide) return false;
      push(state, in.is_register(0, ZYDIS_REGISTER_RBP));
      return true;
    case ZYDIS_MNEMONIC_POP:
      if (!wide || in.is_register(0, ZYDIS_REGISTER_RSP)) return false;
      pop(state, in.is_register(0, ZYDIS_REGISTER_RBP));
      return true;
    case ZYDIS_MNEMONIC_POPFQ:
      if (!wide) return false;
      pop(state, false);
      return true;
    case ZYDIS_MNEMONIC_CALL:
      return true;  // callees keep both
    case ZYDIS_MNEMONIC_LEAVE:
      if (!wide || !state.rbp_is_frame) return false;
      state.rsp_known = true;
      state.rsp_depth = state.rbp_depth;
      pop(state, true);
      return true;
    case ZYDIS_MNEMONIC_SUB:
    case ZYDIS_MNEMONIC_ADD:
      if (in.is_register(0, ZYDIS_REGISTER_RSP) && in.is_immediate(1)) {
        const std::int64_t by = in.operands[1].imm.value.s;
        state.rsp_depth += in.decoded.mnemonic == ZYDIS_MNEMONIC_SUB ? by : -by;
        return true;
      }
      break;
    case ZYDIS_MNEMONIC_LEA:
      if (in.is_register(0, ZYDIS_REGISTER_RSP)) {
        if (in.is_memory(1, ZYDIS_REGISTER_RSP)) {
          state.rsp_depth -= in.displacement(1);
          return true;
        }
        if (in.is_memory(1, ZYDIS_REGISTER_RBP) && state.rbp_is_frame) {
          state.rsp_known = true;
          state.rsp_depth = state.rbp_depth - in.displacement(1);
          return true;
        }
      }
      if (in.is_register(0, ZYDIS_REGISTER_RBP) && in.is_memory(1, ZYDIS_REGISTER_RSP) && state.rsp_known) {
        state.rbp_is_callers = false;
        state.rbp_is_frame = true;
        state.rbp_depth = state.rsp_depth - in.displacement(1);
        return true;
      }
      break;
    case ZYDIS_MNEMONIC_MOV:
      if (in.is_register(0, ZYDIS_REGISTER_RBP) && in.is_register(1, ZYDIS_REGISTER_RSP) && state.rsp_known) {
        state.rbp_is_callers = false;
        state.rbp_is_frame = true;
        state.rbp_depth = state.rsp_depth;
        return true;
      }
      if (in.is_register(0, ZYDIS_REGISTER_RSP) && in.is_register(1, ZYDIS_REGISTER_RBP) &&
          state.rbp_is_frame) {
        state.rsp_known = true;
        state.rsp_depth = state.rbp_depth;
        return true;
      }
      if (in.is_memory(0, ZYDIS_REGISTER_RSP) && in.is_register(1, ZYDIS_REGISTER_RBP) && state.rsp_known &&
          state.rbp_is_callers && !state.rbp_saved && in.displacement(0) >= 0) {
        state.rbp_saved = true;
        state.saved_depth = state.rsp_depth - in.displacement(0);
        return true;
      }
      if (in.is_register(0, ZYDIS_REGISTER_RBP) && in.is_memory(1, ZYDIS_REGISTER_RSP) && state.rsp_known &&
          state.rbp_saved && state.saved_depth == state.rsp_depth - in.displacement(1)) {
        restore_rbp(state);
        return true;
      }
      break;
    default:
      break;
  }
  if (in.writes(ZYDIS_REGISTER_RSP)) state.rsp_known = false;  // alignment, alloca, another stack
  if (in.writes(ZYDIS_REGISTER_RBP)) write_unknown_rbp(state);
  return true;
}

bool sound(const State& state) {
  if (state.rsp_known && !plausible(state.rsp_depth)) return false;
  if (state.rbp_is_frame && !plausible(state.rbp_depth)) return false;
  return state.rsp_known || state.rbp_is_frame;
}

unwind_rule rule_of(const State& state) {
  unwind_rule rule{};
  // Where both would do: from rbp if it marks the frame in the usual way, else it may only point at some
  // local.
  const bool usual_frame = state.rbp_is_frame && state.rbp_saved && state.rbp_depth == state.saved_depth;
  const bool from_rbp = usual_frame || !state.rsp_known;
  rule.cfa = from_rbp ? CFA_FP : CFA_SP;
  rule.cfa_offset = static_cast<s32>(from_rbp ? state.rbp_depth : state.rsp_depth);
  if (state.rbp_saved) {
    rule.fp = FP_AT_CFA;
    rule.fp_offset = static_cast<s32>(-state.saved_depth);
  } else {
    rule.fp = state.rbp_is_callers ? FP_SAME : FP_UNDEFINED;
  }
  return rule;
}

}  // namespace fathom::arch::frame
