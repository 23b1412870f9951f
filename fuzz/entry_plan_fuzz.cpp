// Any bytes as a function: it is rejected, or the plan keeps the promises of its header. The first bytes
// choose the addresses of trampoline and stub.
#include <Zydis/Zydis.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <span>

#include "base/arch/common/entry_plan.h"

namespace {

void check(bool holds) {
  if (!holds) std::abort();
}

std::optional<ZydisDecodedInstruction> decode(std::span<const std::byte> code, std::size_t at) {
  ZydisDecoder decoder;
  ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
  ZydisDecodedInstruction instruction;
  if (at >= code.size() || !ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, nullptr, code.data() + at,
                                                                       code.size() - at, &instruction)))
    return std::nullopt;
  return instruction;
}

std::int64_t branch_target(const ZydisDecodedInstruction& instruction, std::uint64_t at) {
  return static_cast<std::int64_t>(at + instruction.length) + instruction.raw.imm[0].value.s;
}

void check_plan(const fathom::arch::EntryPlan& plan, std::span<const std::byte> code,
                fathom::ProcessAddress function, fathom::ProcessAddress trampoline,
                fathom::ProcessAddress stub) {
  // The changed bytes.
  check(plan.before.size() == plan.after.size() && plan.before.size() >= 5 && plan.before.size() <= 16);
  const std::uint64_t first = plan.patch_address.value - function.value;
  check(first == 0 || first == 4);
  check(first + plan.before.size() <= code.size());
  check(std::memcmp(code.data() + first, plan.before.data(), plan.before.size()) == 0);
  const auto jump = decode(plan.after, 0);
  check(jump && jump->mnemonic == ZYDIS_MNEMONIC_JMP && jump->length == 5);
  check(branch_target(*jump, plan.patch_address.value) == static_cast<std::int64_t>(stub.value));

  // The moved instructions: in sequence on both sides, each one the same or its longer form.
  check(!plan.trampoline.empty() && plan.trampoline.size() <= fathom::arch::kTrampolineRoom);
  check(!plan.moved.empty() && plan.single_instruction == (plan.moved.size() == 1));
  check(plan.moved.front().from == first && plan.moved.front().to == first);
  std::size_t from = plan.moved.front().from, to = plan.moved.front().to;
  bool goes_on = true;
  for (const auto& each : plan.moved) {
    check(goes_on && each.from == from && each.to == to && from < first + 5);
    const auto original = decode(code, from), moved = decode(plan.trampoline, to);
    check(original && moved && original->mnemonic == moved->mnemonic);
    const bool is_branch =
        original->meta.category == ZYDIS_CATEGORY_COND_BR || original->raw.imm[0].is_relative;
    if (is_branch)
      check(branch_target(*original, function.value + from) == branch_target(*moved, trampoline.value + to));
    else
      check(original->length == moved->length && original->opcode == moved->opcode);
    goes_on = original->mnemonic != ZYDIS_MNEMONIC_JMP && original->meta.category != ZYDIS_CATEGORY_RET;
    from += original->length;
    to += moved->length;
  }
  // And the jump back.
  if (!goes_on) {
    check(to == plan.trampoline.size());
    return;
  }
  check(from == first + plan.before.size());
  const auto back = decode(plan.trampoline, to);
  check(back && back->mnemonic == ZYDIS_MNEMONIC_JMP && to + back->length == plan.trampoline.size());
  check(branch_target(*back, trampoline.value + to) == static_cast<std::int64_t>(function.value + from));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::int32_t distance[2];
  if (size < sizeof distance) return 0;
  std::memcpy(distance, data, sizeof distance);
  const auto code = std::as_bytes(std::span(data, size)).subspan(sizeof distance);
  const fathom::ProcessAddress function{0x5555'5555'0000};
  const fathom::ProcessAddress trampoline{function.value +
                                          static_cast<std::uint64_t>(std::int64_t{distance[0]})};
  const fathom::ProcessAddress stub{function.value + static_cast<std::uint64_t>(std::int64_t{distance[1]})};
  if (const auto plan = fathom::arch::plan_entry(code, function, trampoline, stub))
    check_plan(*plan, code, function, trampoline, stub);
  return 0;
}
