#include "base/arch/common/function_facts.h"

#include <Zydis/Zydis.h>

#include <algorithm>
#include <utility>

namespace fathom::arch {
namespace {

// Source: System V ABI, figure 3.4.
constexpr std::array<ZydisRegister, 3> kArguments = {ZYDIS_REGISTER_RDI, ZYDIS_REGISTER_RSI,
                                                     ZYDIS_REGISTER_RDX};

ZydisRegister whole(ZydisRegister part) {
  return ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, part);
}

void sort_once(std::vector<std::uint64_t>& all) {
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
}

class FactsReading {
 public:
  FactsReading(std::span<const std::byte> code, std::uint64_t start, const ImageRange& image,
               std::span<const std::uint32_t> bounds)
      : code_(code), start_(start), image_(image), bounds_(bounds) {
    for (std::size_t i = 0; i < kArguments.size(); ++i) holds_[i].push_back(kArguments[i]);
  }

  std::optional<FunctionFacts> run() {
    if (ZYAN_FAILED(ZydisDecoderInit(&decoder_, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)))
      return std::nullopt;
    for (std::size_t at = 0; at < code_.size();) {
      ZydisDecoderContext context;
      ZydisDecodedInstruction instruction;
      if (ZYAN_FAILED(ZydisDecoderDecodeInstruction(&decoder_, &context, code_.data() + at, code_.size() - at,
                                                    &instruction)))
        return std::nullopt;
      at += instruction.length;
      next_ = start_ + at;
      read_way(instruction);
      read_data(instruction);
      if ((instruction.attributes & ZYDIS_ATTRIB_HAS_SEGMENT_FS) != 0 && !is_stack_guard(instruction))
        ++facts_.thread_accesses;
      read_signs(context, instruction);
    }
    for (auto* each : {&facts_.calls, &facts_.jumps, &facts_.words, &facts_.data}) sort_once(*each);
    return std::move(facts_);
  }

 private:
  static bool is_branch(const ZydisDecodedInstruction& instruction) {
    return instruction.meta.category == ZYDIS_CATEGORY_COND_BR ||
           instruction.meta.category == ZYDIS_CATEGORY_UNCOND_BR;
  }
  static bool of_pc(const ZydisDecodedInstruction& instruction) {
    return (instruction.attributes & ZYDIS_ATTRIB_HAS_MODRM) != 0 && instruction.raw.modrm.mod == 0 &&
           instruction.raw.modrm.rm == 5;
  }
  // fs:0x28, which compilers compare the stack with. Source: the psABI's tcbhead_t of glibc.
  static bool is_stack_guard(const ZydisDecodedInstruction& instruction) {
    return instruction.raw.disp.size != 0 && instruction.raw.disp.value == 0x28;
  }
  void read_way(const ZydisDecodedInstruction& instruction) {
    const bool calls = instruction.mnemonic == ZYDIS_MNEMONIC_CALL;
    if (calls) ++facts_.call_count, called_ = true;
    if ((!calls && !is_branch(instruction)) || !instruction.raw.imm[0].is_relative) return;
    const std::uint64_t to = next_ + static_cast<std::uint64_t>(instruction.raw.imm[0].value.s);
    if (calls)
      facts_.calls.push_back(to);
    else if (to - start_ >= code_.size())
      facts_.jumps.push_back(to);
  }
  void read_data(const ZydisDecodedInstruction& instruction) {
    const auto& raw = instruction.raw;
    if (of_pc(instruction)) {
      const std::uint64_t named = next_ + static_cast<std::uint64_t>(raw.disp.value);
      const bool through = instruction.mnemonic == ZYDIS_MNEMONIC_CALL || is_branch(instruction);
      (through ? facts_.words : facts_.data).push_back(named);
    } else if (raw.disp.size == 32 && in_image(static_cast<std::uint64_t>(raw.disp.value))) {
      facts_.data.push_back(static_cast<std::uint64_t>(raw.disp.value));
    }
    for (const auto& immediate : raw.imm)
      if (immediate.size >= 32 && !immediate.is_relative && in_image(immediate.value.u))
        facts_.data.push_back(immediate.value.u);
  }
  // A file that may be put anywhere begins at 0: its code holds no addresses as numbers.
  bool in_image(std::uint64_t value) const {
    return image_.first >= 0x10000 && value >= image_.first && value < image_.end;
  }

  void read_signs(const ZydisDecoderContext& context, const ZydisDecodedInstruction& instruction) {
    switch (instruction.mnemonic) {
      case ZYDIS_MNEMONIC_TZCNT:
      case ZYDIS_MNEMONIC_BSF:
        facts_.counts_zeros = true;
        return;
      case ZYDIS_MNEMONIC_SHR:
      case ZYDIS_MNEMONIC_SAR:
        facts_.divides_by_8 |= instruction.raw.imm[0].size != 0 && instruction.raw.imm[0].value.u == 3;
        return;
      case ZYDIS_MNEMONIC_OR:
        if (instruction.raw.imm[0].size != 0) facts_.sets_bits |= instruction.raw.imm[0].value.u;
        return;
      case ZYDIS_MNEMONIC_MOV:
      case ZYDIS_MNEMONIC_CMP:
      case ZYDIS_MNEMONIC_TEST:
        break;
      default:
        return;
    }
    std::array<ZydisDecodedOperand, ZYDIS_MAX_OPERAND_COUNT> operands;
    if (ZYAN_FAILED(ZydisDecoderDecodeOperands(&decoder_, &context, &instruction, operands.data(),
                                               static_cast<ZyanU8>(operands.size()))))
      return;
    const auto& to = operands[0];
    const auto& from = operands[1];
    if (to.type != ZYDIS_OPERAND_TYPE_REGISTER) return;
    if (instruction.mnemonic == ZYDIS_MNEMONIC_MOV) {
      if (from.type == ZYDIS_OPERAND_TYPE_REGISTER) copy(whole(from.reg.value), whole(to.reg.value));
      return;
    }
    const auto argument = argument_in(whole(to.reg.value));
    if (argument == kArguments.size()) return;
    if (instruction.mnemonic == ZYDIS_MNEMONIC_TEST) {
      if (from.type == ZYDIS_OPERAND_TYPE_REGISTER && from.reg.value == to.reg.value && !called_)
        facts_.is_zero_tested[argument] = true;
    } else if (from.type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
      if (from.imm.value.u == 0 && !called_) facts_.is_zero_tested[argument] = true;
      if (argument < facts_.is_bounded.size() && to.size == 64 &&
          std::ranges::find(bounds_, from.imm.value.u) != bounds_.end())
        facts_.is_bounded[argument] = true;
    }
  }
  // Which registers hold an argument is followed through plain copies only; one that got another value since
  // then may still be listed: these are signs, not proofs.
  void copy(ZydisRegister from, ZydisRegister to) {
    if (called_) return;
    const auto argument = argument_in(from);
    if (argument < kArguments.size()) holds_[argument].push_back(to);
  }
  std::size_t argument_in(ZydisRegister wanted) const {
    for (std::size_t i = 0; i < holds_.size(); ++i)
      if (std::ranges::find(holds_[i], wanted) != holds_[i].end()) return i;
    return holds_.size();
  }

  std::span<const std::byte> code_;
  std::uint64_t start_, next_ = 0;
  ImageRange image_;
  std::span<const std::uint32_t> bounds_;
  ZydisDecoder decoder_{};
  FunctionFacts facts_;
  std::array<std::vector<ZydisRegister>, kArguments.size()> holds_;
  bool called_ = false;
};

}  // namespace

std::optional<FunctionFacts> function_facts(std::span<const std::byte> code, std::uint64_t start,
                                            const ImageRange& image, std::span<const std::uint32_t> bounds) {
  return FactsReading(code, start, image, bounds).run();
}

}  // namespace fathom::arch
