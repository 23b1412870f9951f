#include "binary/dwarf/rules.h"

#include <limits>

#include "base/arch/dwarf_registers.h"
#include "base/cursor.h"

namespace fathom::dwarf {
namespace {

using arch::kDwarfFp, arch::kDwarfPc, arch::kDwarfRegisters, arch::kDwarfSp;

// DWARF 5 section 7.7.1.
constexpr std::uint8_t kOpDeref = 0x06;
constexpr std::uint8_t kOpAnd = 0x1a;
constexpr std::uint8_t kOpPlus = 0x22;
constexpr std::uint8_t kOpPlusUconst = 0x23;
constexpr std::uint8_t kOpShl = 0x24;
constexpr std::uint8_t kOpGe = 0x2a;
constexpr std::uint8_t kOpLit0 = 0x30;
constexpr std::uint8_t kOpLit15 = 0x3f;
constexpr std::uint8_t kOpBreg0 = 0x70;
constexpr std::uint8_t kOpBreg31 = 0x8f;

// From rsp in a signal handler's frame: struct ucontext, uc_mcontext.gregs[REG_RSP].
constexpr std::int64_t kSignalRsp = 160;

using Kind = RegisterRule::Kind;

unwind_rule with_cfa(unwind_cfa cfa) {
  unwind_rule rule{};
  rule.cfa = cfa;
  return rule;
}

template <class T>
bool fits(std::int64_t value) {
  return value >= std::numeric_limits<T>::min() && value <= std::numeric_limits<T>::max();
}

// `register + offset`, and what follows it: nothing, or a load and an addition.
struct Address {
  std::uint64_t register_number;
  std::int64_t offset;
  bool loaded;
  std::int64_t add;  // after the load
};

std::optional<Address> parse_address(std::span<const std::byte> expression) {
  Cursor in(expression);
  const auto first = in.read<std::uint8_t>();
  if (!in.ok() || first < kOpBreg0 || first > kOpBreg31) return std::nullopt;
  Address address{static_cast<std::uint64_t>(first - kOpBreg0), in.read_sleb128(), false, 0};
  if (in.ok() && in.at_end()) return address;
  if (in.read<std::uint8_t>() != kOpDeref) return std::nullopt;
  address.loaded = true;
  if (in.ok() && in.at_end()) return address;
  const auto next = in.read<std::uint8_t>();
  if (next == kOpPlusUconst) {
    const auto add = in.read_uleb128();
    if (add > std::numeric_limits<std::int8_t>::max()) return std::nullopt;
    address.add = static_cast<std::int64_t>(add);
  } else if (next >= kOpLit0 && next <= kOpLit0 + 31) {
    address.add = next - kOpLit0;
    if (in.read<std::uint8_t>() != kOpPlus) return std::nullopt;
  } else {
    return std::nullopt;
  }
  return in.ok() && in.at_end() ? std::optional(address) : std::nullopt;
}

// rsp + N + ((rip & 15) >= M) * 8: a stub of the procedure linkage table has pushed one word from byte M on.
// Linkers write one such row for the whole table (binutils: elf_x86_64_eh_frame_plt).
std::optional<unwind_rule> parse_plt(std::span<const std::byte> expression) {
  Cursor in(expression);
  const auto is = [&](std::uint8_t opcode) { return in.read<std::uint8_t>() == opcode; };
  if (!is(kOpBreg0 + kDwarfSp)) return std::nullopt;
  const auto offset = in.read_sleb128();
  if (!is(kOpBreg0 + kDwarfPc) || in.read_sleb128() != 0 || !is(kOpLit15) || !is(kOpAnd)) return std::nullopt;
  const auto threshold = in.read<std::uint8_t>();
  if (threshold < kOpLit0 || threshold > kOpLit15) return std::nullopt;
  if (!is(kOpGe) || !is(kOpLit0 + 3) || !is(kOpShl) || !is(kOpPlus) || !in.ok() || !in.at_end())
    return std::nullopt;
  if (!fits<std::int32_t>(offset)) return std::nullopt;
  unwind_rule rule = with_cfa(CFA_PLT);
  rule.cfa_offset = static_cast<std::int32_t>(offset);
  rule.reg = static_cast<std::uint8_t>(threshold - kOpLit0);
  return rule;
}

unwind_rule register_cfa(std::uint64_t number, std::int64_t offset) {
  if (!fits<std::int32_t>(offset) || number >= kDwarfRegisters) return with_cfa(CFA_UNSUPPORTED);
  unwind_rule rule = with_cfa(number == kDwarfSp ? CFA_SP : number == kDwarfFp ? CFA_FP : CFA_REGISTER);
  rule.cfa_offset = static_cast<std::int32_t>(offset);
  if (rule.cfa == CFA_REGISTER) rule.reg = static_cast<std::uint8_t>(number);
  return rule;
}

unwind_rule expression_cfa(std::span<const std::byte> expression, bool signal_frame) {
  if (auto plt = parse_plt(expression)) return *plt;
  const auto address = parse_address(expression);
  if (!address) return with_cfa(CFA_UNSUPPORTED);
  if (!address->loaded) return register_cfa(address->register_number, address->offset);
  if (signal_frame && address->register_number == kDwarfSp && address->offset == kSignalRsp &&
      address->add == 0)
    return with_cfa(CFA_SIGNAL);
  if (!fits<std::int32_t>(address->offset) ||
      (address->register_number != kDwarfSp && address->register_number != kDwarfFp))
    return with_cfa(CFA_UNSUPPORTED);
  unwind_rule rule = with_cfa(address->register_number == kDwarfSp ? CFA_DEREF_SP : CFA_DEREF_FP);
  rule.cfa_offset = static_cast<std::int32_t>(address->offset);
  rule.add = static_cast<std::int8_t>(address->add);
  return rule;
}

bool return_address_is_below_cfa(const FrameState& state, const Cie& cie) {
  const RegisterRule& rip = state.registers[kTrackedPc];
  const RegisterRule& rsp = state.registers[kTrackedSp];
  // Unspecified: the ABI's own convention holds, which is the same.
  const bool rip_saved = rip.kind == Kind::kUnspecified || (rip.kind == Kind::kOffset && rip.offset == -8);
  const bool rsp_is_cfa =
      rsp.kind == Kind::kUnspecified || (rsp.kind == Kind::kValueOffset && rsp.offset == 0);
  return cie.return_register == kDwarfPc && rip_saved && rsp_is_cfa;
}

void set_rbp(unwind_rule& rule, const RegisterRule& rbp) {
  rule.fp = FP_UNDEFINED;
  std::int64_t offset = 0;
  if (rbp.kind == Kind::kUnspecified || rbp.kind == Kind::kSameValue) {
    rule.fp = FP_SAME;
  } else if (rbp.kind == Kind::kOffset) {
    rule.fp = FP_AT_CFA;
    offset = rbp.offset;
  } else if (rbp.kind == Kind::kExpression) {
    const auto address = parse_address(rbp.expression);
    if (!address || address->loaded) return;
    offset = address->offset;
    if (address->register_number == kDwarfFp) {
      rule.fp = FP_AT_FP;
    } else if (address->register_number == kDwarfSp && rule.cfa == CFA_SP &&
               !__builtin_sub_overflow(address->offset, std::int64_t{rule.cfa_offset}, &offset)) {
      rule.fp = FP_AT_CFA;  // both count from rsp
    }
  }
  if (fits<std::int32_t>(offset)) {
    rule.fp_offset = rule.fp == FP_UNDEFINED ? 0 : static_cast<std::int32_t>(offset);
  } else {
    rule.fp = FP_UNDEFINED;
  }
}

}  // namespace

unwind_rule rule_of(const FrameState& state, const Cie& cie) {
  if (state.registers[kTrackedPc].kind == Kind::kUndefined) return with_cfa(CFA_END);
  unwind_rule rule = with_cfa(CFA_UNSUPPORTED);
  if (state.cfa.kind == CfaRule::Kind::kRegister) {
    rule = register_cfa(state.cfa.register_number, state.cfa.offset);
  } else if (state.cfa.kind == CfaRule::Kind::kExpression) {
    rule = expression_cfa(state.cfa.expression, cie.signal_frame);
  }
  if (rule.cfa == CFA_UNSUPPORTED || rule.cfa == CFA_SIGNAL) return rule;
  if (!return_address_is_below_cfa(state, cie)) return with_cfa(CFA_UNSUPPORTED);
  set_rbp(rule, state.registers[kTrackedFp]);
  return rule;
}

}  // namespace fathom::dwarf
