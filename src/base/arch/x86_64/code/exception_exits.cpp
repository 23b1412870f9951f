#include "base/arch/common/exception_exits.h"

#include <Zydis/Zydis.h>

#include <algorithm>
#include <array>

namespace fathom::arch {
namespace {

// mov %rcx,%rsp and then ret, or pop %rcx and jmp *%rcx where returns are checked against a shadow stack.
constexpr std::array kMove{std::byte{0x48}, std::byte{0x89}, std::byte{0xcc}};
constexpr std::array kReturn{std::byte{0xc3}};
constexpr std::array kJumpBytes{std::byte{0x59}, std::byte{0xff}, std::byte{0xe1}};
// Between the call that overwrites and the jump lies the call of a function for debuggers, which does nothing.
constexpr std::size_t kBetweenCalls = 64;  // bytes
constexpr std::size_t kMostCodeOfExits = std::size_t{64} << 10;

bool begins_with(std::span<const std::byte> code, std::span<const std::byte> with) {
  return code.size() >= with.size() && std::equal(with.begin(), with.end(), code.begin());
}

}  // namespace

std::vector<std::size_t> exception_exits(std::span<const std::byte> code) {
  std::vector<std::size_t> found;
  for (auto at = code.begin(); at != code.end(); ++at) {
    at = std::search(at, code.end(), kMove.begin(), kMove.end());
    if (at == code.end()) break;
    const auto behind = static_cast<std::size_t>(at - code.begin()) + kMove.size();
    const auto rest = code.subspan(behind);
    if (begins_with(rest, kReturn)) found.push_back(behind + kReturn.size());
    if (begins_with(rest, kJumpBytes)) found.push_back(behind + kJumpBytes.size());
  }
  return found;
}

std::optional<std::size_t> first_overwrite(std::span<const std::byte> function) {
  if (function.size() > kMostCodeOfExits) return std::nullopt;
  ZydisDecoder decoder;
  if (ZYAN_FAILED(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)))
    return std::nullopt;
  std::optional<std::size_t> last, before;
  std::size_t at = 0;
  while (at < function.size()) {
    ZydisDecodedInstruction instruction;
    if (ZYAN_FAILED(ZydisDecoderDecodeInstruction(&decoder, nullptr, function.data() + at,
                                                  function.size() - at, &instruction)))
      return std::nullopt;
    if (instruction.mnemonic == ZYDIS_MNEMONIC_CALL) {
      before = last;
      last = at;
    }
    at += instruction.length;
  }
  if (last && before && *last - *before <= kBetweenCalls) return before;
  return last;
}

}  // namespace fathom::arch
