#include "base/arch/common/disassembly.h"

#include <Zydis/Zydis.h>
#include <fmt/format.h>

#include <array>

namespace fathom::arch {

std::vector<DecodedInstruction> disassemble(std::span<const std::byte> code, ElfAddress start) {
  ZydisDecoder decoder;
  ZydisFormatter formatter;
  if (ZYAN_FAILED(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) ||
      ZYAN_FAILED(ZydisFormatterInit(&formatter, ZYDIS_FORMATTER_STYLE_INTEL)))
    return {};
  ZydisFormatterSetProperty(&formatter, ZYDIS_FORMATTER_PROP_HEX_UPPERCASE, ZYAN_FALSE);
  // Small numbers are small on the screen as well.
  ZydisFormatterSetProperty(&formatter, ZYDIS_FORMATTER_PROP_DISP_PADDING, ZYDIS_PADDING_DISABLED);
  ZydisFormatterSetProperty(&formatter, ZYDIS_FORMATTER_PROP_IMM_PADDING, ZYDIS_PADDING_DISABLED);
  ZydisFormatterSetProperty(&formatter, ZYDIS_FORMATTER_PROP_ADDR_PADDING_ABSOLUTE, ZYDIS_PADDING_DISABLED);
  std::vector<DecodedInstruction> rows;
  for (std::size_t at = 0; at < code.size();) {
    DecodedInstruction row{{start.value + at}, 1, {}, {}};
    ZydisDecodedInstruction instruction;
    std::array<ZydisDecodedOperand, ZYDIS_MAX_OPERAND_COUNT> operands;
    std::array<char, 256> text{};
    if (ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code.data() + at, code.size() - at, &instruction,
                                            operands.data())) &&
        ZYAN_SUCCESS(ZydisFormatterFormatInstruction(&formatter, &instruction, operands.data(),
                                                     instruction.operand_count_visible, text.data(),
                                                     text.size(), row.address.value, nullptr))) {
      row.size = instruction.length;
      row.text = text.data();
      const bool jumps = instruction.meta.category == ZYDIS_CATEGORY_CALL ||
                         instruction.meta.category == ZYDIS_CATEGORY_COND_BR ||
                         instruction.meta.category == ZYDIS_CATEGORY_UNCOND_BR;
      ZyanU64 target = 0;
      if (jumps && instruction.operand_count_visible > 0 &&
          operands[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE && operands[0].imm.is_relative != 0 &&
          ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(&instruction, operands.data(), row.address.value, &target)))
        row.target = ElfAddress{target};
    } else {
      row.text = fmt::format("(no instruction: {:02x})", std::to_integer<unsigned>(code[at]));
    }
    at += row.size;
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace fathom::arch
