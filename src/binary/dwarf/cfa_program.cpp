#include "binary/dwarf/cfa_program.h"

namespace fathom::dwarf {
namespace {

// The three that carry an operand in their low six bits.
constexpr std::uint8_t kAdvanceLoc = 0x40;
constexpr std::uint8_t kOffset = 0x80;
constexpr std::uint8_t kRestore = 0xc0;

enum Opcode : std::uint8_t {
  kNop = 0x00,
  kSetLoc = 0x01,
  kAdvanceLoc1 = 0x02,
  kAdvanceLoc2 = 0x03,
  kAdvanceLoc4 = 0x04,
  kOffsetExtended = 0x05,
  kRestoreExtended = 0x06,
  kUndefined = 0x07,
  kSameValue = 0x08,
  kRegister = 0x09,
  kRememberState = 0x0a,
  kRestoreState = 0x0b,
  kDefCfa = 0x0c,
  kDefCfaRegister = 0x0d,
  kDefCfaOffset = 0x0e,
  kDefCfaExpression = 0x0f,
  kExpression = 0x10,
  kOffsetExtendedSf = 0x11,
  kDefCfaSf = 0x12,
  kDefCfaOffsetSf = 0x13,
  kValOffset = 0x14,
  kValOffsetSf = 0x15,
  kValExpression = 0x16,
  kGnuArgsSize = 0x2e,
  kGnuNegativeOffsetExtended = 0x2f,
};

// Real programs nest once or twice. A bound, as a hostile one would ask for 200 bytes of ours per byte of its
// own.
constexpr std::size_t kDeepestRemember = 64;

using Kind = RegisterRule::Kind;

}  // namespace

void CfaProgram::reset(const Cie& cie, std::span<const std::byte> program, std::uint64_t program_address) {
  in_ = Cursor(program);
  cie_ = &cie;
  program_address_ = program_address;
  location_ = row_offset_ = 0;
  broken_ = done_ = false;
  remembered_.clear();
}

// One module is a million instructions: the short ones are inlined into next_row().
[[gnu::always_inline]] inline std::int64_t CfaProgram::factored(std::int64_t offset) const {
  // Unsigned, as a hostile product may wrap; what does not fit is refused where rules are made.
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(offset) *
                                   static_cast<std::uint64_t>(cie_->data_alignment));
}

[[gnu::always_inline]] inline CfaProgram::Step CfaProgram::move_by(std::uint64_t factored_delta) {
  std::uint64_t delta = 0;
  std::uint64_t location = 0;
  if (initial_ == nullptr || __builtin_mul_overflow(factored_delta, cie_->code_alignment, &delta) ||
      __builtin_add_overflow(location_, delta, &location))
    return Step::kBroken;
  if (location == location_) return Step::kGoOn;
  location_ = location;
  return Step::kMoved;
}

CfaProgram::Step CfaProgram::move_to(std::uint64_t address) {
  if (initial_ == nullptr || address < start_ + location_) return Step::kBroken;
  if (address == start_ + location_) return Step::kGoOn;
  location_ = address - start_;
  return Step::kMoved;
}

[[gnu::always_inline]] inline CfaProgram::Step CfaProgram::set(std::uint64_t register_number,
                                                               const RegisterRule& rule) {
  const std::size_t index = tracked_index(register_number);
  if (index == kTrackedRegisters) return Step::kGoOn;
  state_.registers[index] = rule;
  changed_ = true;
  return Step::kGoOn;
}

CfaProgram::Step CfaProgram::restore(std::uint64_t register_number) {
  if (initial_ == nullptr) return Step::kBroken;
  const std::size_t index = tracked_index(register_number);
  return index == kTrackedRegisters ? Step::kGoOn : set(register_number, initial_->registers[index]);
}

[[gnu::always_inline]] inline CfaProgram::Step CfaProgram::define_cfa(std::uint64_t register_number,
                                                                      std::int64_t offset) {
  state_.cfa = {CfaRule::Kind::kRegister, register_number, offset, {}};
  changed_ = true;
  return Step::kGoOn;
}

CfaProgram::Step CfaProgram::execute_extended(std::uint8_t opcode) {
  const auto read_unsigned = [&] { return static_cast<std::int64_t>(in_.read_uleb128()); };
  const auto read_expression = [&] { return in_.read_bytes(in_.read_uleb128()); };
  switch (opcode) {
    case kNop:
      return Step::kGoOn;
    case kAdvanceLoc1:
      return move_by(in_.read<std::uint8_t>());
    case kAdvanceLoc2:
      return move_by(in_.read<std::uint16_t>());
    case kAdvanceLoc4:
      return move_by(in_.read<std::uint32_t>());
    case kSetLoc: {
      const auto address = read_pointer(in_, cie_->pointer_encoding, {.section = program_address_});
      return address ? move_to(*address) : Step::kBroken;
    }
    case kDefCfa: {
      const auto number = in_.read_uleb128();
      return define_cfa(number, read_unsigned());
    }
    case kDefCfaSf: {
      const auto number = in_.read_uleb128();
      return define_cfa(number, factored(in_.read_sleb128()));
    }
    case kDefCfaRegister: {
      const auto number = in_.read_uleb128();
      return state_.cfa.kind == CfaRule::Kind::kRegister ? define_cfa(number, state_.cfa.offset)
                                                         : Step::kBroken;
    }
    case kDefCfaOffset:
    case kDefCfaOffsetSf: {
      const auto offset = opcode == kDefCfaOffset ? read_unsigned() : factored(in_.read_sleb128());
      if (state_.cfa.kind != CfaRule::Kind::kRegister) return Step::kBroken;
      return define_cfa(state_.cfa.register_number, offset);
    }
    case kDefCfaExpression:
      state_.cfa = {CfaRule::Kind::kExpression, 0, 0, read_expression()};
      changed_ = true;
      return Step::kGoOn;
    case kOffsetExtended: {
      const auto number = in_.read_uleb128();
      return set(number, {Kind::kOffset, factored(read_unsigned()), {}});
    }
    case kOffsetExtendedSf: {
      const auto number = in_.read_uleb128();
      return set(number, {Kind::kOffset, factored(in_.read_sleb128()), {}});
    }
    case kGnuNegativeOffsetExtended: {
      const auto number = in_.read_uleb128();
      const auto offset = static_cast<std::uint64_t>(factored(read_unsigned()));
      return set(number, {Kind::kOffset, static_cast<std::int64_t>(0 - offset), {}});
    }
    case kValOffset: {
      const auto number = in_.read_uleb128();
      return set(number, {Kind::kValueOffset, factored(read_unsigned()), {}});
    }
    case kValOffsetSf: {
      const auto number = in_.read_uleb128();
      return set(number, {Kind::kValueOffset, factored(in_.read_sleb128()), {}});
    }
    case kRestoreExtended:
      return restore(in_.read_uleb128());
    case kUndefined:
      return set(in_.read_uleb128(), {Kind::kUndefined, 0, {}});
    case kSameValue:
      return set(in_.read_uleb128(), {Kind::kSameValue, 0, {}});
    case kRegister: {
      const auto number = in_.read_uleb128();
      return set(number, {Kind::kRegister, read_unsigned(), {}});
    }
    case kExpression: {
      const auto number = in_.read_uleb128();
      return set(number, {Kind::kExpression, 0, read_expression()});
    }
    case kValExpression: {
      const auto number = in_.read_uleb128();
      return set(number, {Kind::kValueExpression, 0, read_expression()});
    }
    case kRememberState:
      if (remembered_.size() >= kDeepestRemember) return Step::kBroken;
      remembered_.push_back(state_);
      return Step::kGoOn;
    case kRestoreState:
      if (remembered_.empty()) return Step::kBroken;
      state_ = remembered_.back();
      remembered_.pop_back();
      changed_ = true;
      return Step::kGoOn;
    case kGnuArgsSize:
      in_.read_uleb128();
      return Step::kGoOn;
    default:
      return Step::kBroken;
  }
}

[[gnu::always_inline]] inline CfaProgram::Step CfaProgram::execute() {
  const auto byte = in_.read<std::uint8_t>();
  const std::uint8_t low = byte & 0x3f;
  switch (byte & 0xc0) {
    case kAdvanceLoc:
      return move_by(low);
    case kOffset:
      return set(low, {Kind::kOffset, factored(static_cast<std::int64_t>(in_.read_uleb128())), {}});
    case kRestore:
      return restore(low);
    default:
      return execute_extended(byte);
  }
}

std::optional<FrameState> CfaProgram::initial_state(const Cie& cie) {
  reset(cie, cie.program, cie.program_address);
  initial_ = nullptr;
  start_ = size_ = 0;
  state_ = FrameState{};
  while (in_.remaining() > 0)
    if (execute() != Step::kGoOn) return std::nullopt;  // a CIE has no places to move to
  return in_.ok() ? std::optional(state_) : std::nullopt;
}

void CfaProgram::start(const Fde& fde, const FrameState& initial) {
  reset(*fde.cie, fde.program, fde.program_address);
  initial_ = &initial;
  start_ = fde.start.value;
  size_ = fde.size;
  state_ = initial;
  changed_ = true;
}

// The instructions up to the next move make up the row that starts here.
bool CfaProgram::next_row() {
  if (done_) return false;
  if (location_ != 0) changed_ = false;
  row_offset_ = location_;
  while (in_.remaining() > 0) {
    const Step step = execute();
    if (step == Step::kGoOn && in_.ok()) continue;
    if (step != Step::kMoved || !in_.ok()) {
      broken_ = changed_ = true;
      break;
    }
    if (location_ >= size_) break;  // what follows is not about this function's code
    return true;
  }
  done_ = true;
  return true;
}

}  // namespace fathom::dwarf
