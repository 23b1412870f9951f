#include "base/arch/common/entry_plan.h"

#include <Zydis/Zydis.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>

namespace fathom::arch {
namespace {

constexpr std::size_t kJump = 5;          // e9 rel32
constexpr std::size_t kEndbr = 4;         // f3 0f 1e fa
constexpr std::size_t kMostChanged = 16;  // bytes that a journal entry holds
constexpr std::byte kBreakpoint{0xcc};

struct Instruction {
  ZydisDecodedInstruction decoded;
  ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
  std::size_t offset;  // in the function

  std::size_t end() const { return offset + decoded.length; }
  // The direct branch's target as an offset in the function; it may lie outside, on either side.
  std::optional<std::int64_t> branch_target() const {
    for (unsigned i = 0; i < decoded.operand_count_visible; ++i) {
      const ZydisDecodedOperand& operand = operands[i];
      if (operand.type == ZYDIS_OPERAND_TYPE_IMMEDIATE && operand.imm.is_relative)
        return static_cast<std::int64_t>(end()) + operand.imm.value.s;
    }
    return std::nullopt;
  }
  // [rip + disp32]: what it names, as an offset in the function.
  std::optional<std::int64_t> named_memory() const {
    for (unsigned i = 0; i < decoded.operand_count; ++i) {
      const ZydisDecodedOperand& operand = operands[i];
      if (operand.type == ZYDIS_OPERAND_TYPE_MEMORY && operand.mem.base == ZYDIS_REGISTER_RIP)
        return static_cast<std::int64_t>(end()) + operand.mem.disp.value;
    }
    return std::nullopt;
  }
  bool is_call() const { return decoded.meta.category == ZYDIS_CATEGORY_CALL; }
  bool is_jump() const { return decoded.mnemonic == ZYDIS_MNEMONIC_JMP; }
  bool never_goes_on() const { return is_jump() || decoded.meta.category == ZYDIS_CATEGORY_RET; }
  bool is_padding() const {
    return decoded.mnemonic == ZYDIS_MNEMONIC_NOP || decoded.mnemonic == ZYDIS_MNEMONIC_INT3;
  }
};

class Decoder {
 public:
  explicit Decoder(std::span<const std::byte> code) : code_(code) {
    ZydisDecoderInit(&decoder_, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
  }
  std::optional<Instruction> at(std::size_t offset) const {
    Instruction instruction{};
    instruction.offset = offset;
    if (offset >= code_.size() ||
        !ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder_, code_.data() + offset, code_.size() - offset,
                                             &instruction.decoded, instruction.operands)))
      return std::nullopt;
    return instruction;
  }

 private:
  std::span<const std::byte> code_;
  ZydisDecoder decoder_;
};

// The distance that a rel32 field must hold. nullopt: too far.
std::optional<std::int32_t> relative(std::uint64_t from, std::uint64_t to) {
  const auto distance = static_cast<std::int64_t>(to - from);
  if (distance < std::numeric_limits<std::int32_t>::min() ||
      distance > std::numeric_limits<std::int32_t>::max())
    return std::nullopt;
  return static_cast<std::int32_t>(distance);
}

tl::unexpected<Error> refuse(std::string why) {
  return fail(ErrorKind::kUnsupported, std::move(why));
}

// The trampoline as it grows.
class Trampoline {
 public:
  Trampoline(ProcessAddress at, ProcessAddress function) : at_(at.value), function_(function.value) {}

  std::size_t size() const { return bytes_.size(); }
  std::vector<std::byte> take() { return std::move(bytes_); }
  void copy(std::span<const std::byte> bytes) { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }

  // An opcode whose last field is a rel32 to `offset` in the function. False: too far.
  bool branch(std::initializer_list<std::uint8_t> opcode, std::int64_t offset) {
    const auto distance = relative(at_ + size() + opcode.size() + 4, in_function(offset));
    if (!distance) return false;
    for (const std::uint8_t byte : opcode) bytes_.push_back(std::byte{byte});
    copy(std::as_bytes(std::span(&*distance, 1)));
    return true;
  }
  // A copy whose disp32 names the same memory as before. False: too far.
  bool copy_naming(std::span<const std::byte> bytes, std::size_t displacement_at, std::int64_t offset) {
    const auto distance = relative(at_ + size() + bytes.size(), in_function(offset));
    if (!distance) return false;
    const std::size_t start = size();
    copy(bytes);
    std::memcpy(bytes_.data() + start + displacement_at, &*distance, sizeof *distance);
    return true;
  }

 private:
  std::uint64_t in_function(std::int64_t offset) const {
    return function_ + static_cast<std::uint64_t>(offset);
  }
  std::uint64_t at_, function_;
  std::vector<std::byte> bytes_;
};

// What may not be moved, whatever its operands.
std::optional<std::string> why_not_movable(const Instruction& instruction) {
  const auto at = instruction.offset;
  if (instruction.is_call()) return fmt::format("a call at +{} would return into the trampoline", at);
  // jkzd and jknzd of Knights Corner: no server has them, and move() writes the branches that it knows.
  if (instruction.branch_target() && instruction.decoded.encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY)
    return fmt::format("a branch on a vector mask ({}) at +{}",
                       ZydisMnemonicGetString(instruction.decoded.mnemonic), at);
  switch (instruction.decoded.mnemonic) {
    case ZYDIS_MNEMONIC_LOOP:
    case ZYDIS_MNEMONIC_LOOPE:
    case ZYDIS_MNEMONIC_LOOPNE:
    case ZYDIS_MNEMONIC_JCXZ:
    case ZYDIS_MNEMONIC_JECXZ:
    case ZYDIS_MNEMONIC_JRCXZ:
      return fmt::format("a short-only branch ({}) at +{}",
                         ZydisMnemonicGetString(instruction.decoded.mnemonic), at);
    case ZYDIS_MNEMONIC_XBEGIN:
      return fmt::format("a transaction starts at +{}", at);
    case ZYDIS_MNEMONIC_INT3:
      return fmt::format("a breakpoint at +{}", at);
    case ZYDIS_MNEMONIC_ENDBR64:
      return fmt::format("an indirect branch may land at +{} (endbr64)", at);
    default:
      return std::nullopt;
  }
}

// The instructions that the jump covers.
struct Start {
  std::vector<Instruction> moved;
  std::size_t first = 0;    // offset of the first changed byte: behind an endbr64
  std::size_t end = 0;      // offset behind the last moved instruction
  std::size_t changed = 0;  // bytes, from `first`; may reach into padding
  bool goes_on = true;      // behind the last moved instruction
};

Result<Start> cover(std::span<const std::byte> code, const Decoder& decoder) {
  Start start;
  const auto first = decoder.at(0);
  if (first && first->decoded.mnemonic == ZYDIS_MNEMONIC_ENDBR64 && first->end() == kEndbr)
    start.first = kEndbr;
  start.end = start.first;
  while (start.goes_on && start.end < start.first + kJump) {
    const auto instruction = decoder.at(start.end);
    if (!instruction) {
      if (start.end >= code.size()) return refuse(fmt::format("the function ends at +{}", start.end));
      return refuse(fmt::format("the instruction at +{} cannot be decoded", start.end));
    }
    if (const auto why = why_not_movable(*instruction)) return refuse(*why);
    start.moved.push_back(*instruction);
    start.goes_on = !instruction->never_goes_on();
    start.end = instruction->end();
  }
  start.changed = start.end - start.first;
  if (start.changed >= kJump) return start;
  // A function shorter than the jump: what follows must be known to be nothing.
  for (std::size_t at = start.end; at < start.first + kJump;) {
    const auto padding = decoder.at(at);
    if (!padding || !padding->is_padding())
      return refuse(
          fmt::format("the function ends at +{}, and no padding for a jump is known behind it", start.end));
    at = padding->end();
  }
  start.changed = kJump;
  return start;
}

// A branch to the first changed byte only calls the function again; one behind it would run into the jump.
Result<> check_branches(std::span<const std::byte> code, const Decoder& decoder, const Start& start) {
  const auto first = static_cast<std::int64_t>(start.first);
  bool in_padding = false;  // whether what comes next is reached by branches only, or not at all
  for (std::size_t at = 0; at < code.size();) {
    const auto instruction = decoder.at(at);
    // The last padding may be cut in the middle of one long nop.
    if (!instruction && in_padding && code.size() - at < ZYDIS_MAX_INSTRUCTION_LENGTH) break;
    if (!instruction) return refuse(fmt::format("the instruction at +{} cannot be decoded", at));
    in_padding = instruction->never_goes_on() || (in_padding && instruction->is_padding());
    if (const auto target = instruction->branch_target();
        target && *target > first && *target < first + static_cast<std::int64_t>(start.changed))
      return refuse(fmt::format("the branch at +{} goes to +{}, into the bytes that change", at, *target));
    at = instruction->end();
  }
  return {};
}

Result<std::vector<std::byte>> move(std::span<const std::byte> code, const Start& start,
                                    ProcessAddress function, ProcessAddress at,
                                    std::vector<MovedInstruction>& moved) {
  Trampoline out(at, function);
  // Kept at the trampoline's start too: it is jumped to through a pointer.
  out.copy(code.first(start.first));
  const auto too_far = [](std::size_t offset) {
    return refuse(fmt::format("what +{} refers to is more than 2 GiB from the trampoline", offset));
  };
  for (const Instruction& each : start.moved) {
    moved.push_back({static_cast<std::uint8_t>(each.offset), static_cast<std::uint8_t>(out.size())});
    const auto bytes = code.subspan(each.offset, each.decoded.length);
    if (const auto target = each.branch_target()) {
      // With this prefix AMD's processors cut the target to 16 bits, and Intel's do not.
      if ((each.decoded.attributes & ZYDIS_ATTRIB_HAS_OPERANDSIZE) != 0)
        return refuse(fmt::format("a branch with an operand-size prefix at +{}", each.offset));
      if (each.is_jump()) {
        if (!out.branch({0xe9}, *target)) return too_far(each.offset);
      } else if (each.decoded.meta.category == ZYDIS_CATEGORY_COND_BR) {
        // 7x rel8 and 0f 8x rel32 hold the condition in the same four bits.
        const auto condition = static_cast<std::uint8_t>(each.decoded.opcode & 0xf);
        if (!out.branch({0x0f, static_cast<std::uint8_t>(0x80 | condition)}, *target))
          return too_far(each.offset);
      } else {
        return refuse(fmt::format("an unknown kind of branch at +{}", each.offset));
      }
    } else if (const auto named = each.named_memory()) {
      if (each.decoded.raw.disp.size != 32)
        return refuse(
            fmt::format("a displacement of {} bits at +{}", each.decoded.raw.disp.size, each.offset));
      if (!out.copy_naming(bytes, each.decoded.raw.disp.offset, *named)) return too_far(each.offset);
    } else {
      out.copy(bytes);
    }
  }
  if (start.goes_on && !out.branch({0xe9}, static_cast<std::int64_t>(start.end))) return too_far(start.end);
  if (out.size() > kTrampolineRoom)
    return refuse(fmt::format("the moved start takes {} bytes of {}", out.size(), kTrampolineRoom));
  return out.take();
}

}  // namespace

Result<EntryPlan> plan_entry(std::span<const std::byte> code, ProcessAddress function,
                             ProcessAddress trampoline, ProcessAddress stub,
                             std::span<const std::uint8_t> entered_at) {
  const Decoder decoder(code);
  const auto start = cover(code, decoder);
  if (!start) return tl::unexpected<Error>(start.error());
  if (start->changed > kMostChanged)
    return refuse(fmt::format("{} bytes would change, {} can be kept", start->changed, kMostChanged));
  if (const auto checked = check_branches(code, decoder, *start); !checked)
    return tl::unexpected<Error>(checked.error());

  for (const std::uint8_t offset : entered_at)
    if (offset > start->first && offset < start->first + start->changed)
      return refuse(fmt::format("other code branches to +{}, into the bytes that change", offset));

  EntryPlan plan;
  plan.patch_address.value = function.value + start->first;
  plan.single_instruction = start->moved.size() == 1;
  const auto jump = relative(plan.patch_address.value + kJump, stub.value);
  if (!jump) return refuse("the stub is more than 2 GiB away");
  const auto before = code.subspan(start->first, start->changed);
  plan.before.assign(before.begin(), before.end());
  // Behind the jump is the tail of one instruction, where no branch can go: breakpoints there cost nothing,
  // decode one by one, and stop any thread that arrives anyway before it runs a function without its start.
  plan.after.assign(start->changed, kBreakpoint);
  plan.after[0] = std::byte{0xe9};
  std::memcpy(plan.after.data() + 1, &*jump, sizeof *jump);
  auto moved = move(code, *start, function, trampoline, plan.moved);
  if (!moved) return tl::unexpected<Error>(moved.error());
  plan.trampoline = std::move(*moved);
  return plan;
}

}  // namespace fathom::arch
