#include "base/arch/common/code_references.h"

#include <Zydis/Zydis.h>

#include <algorithm>
#include <cstring>

namespace fathom::arch {
namespace {

std::uint64_t relative(std::span<const std::byte> code, std::size_t end, std::uint64_t address) {
  std::int32_t by;
  std::memcpy(&by, code.data() + end - sizeof by, sizeof by);
  return address + end + static_cast<std::uint64_t>(std::int64_t{by});
}

std::uint32_t last_word(std::span<const std::byte> code, std::size_t end) {
  std::uint32_t word;
  std::memcpy(&word, code.data() + end - sizeof word, sizeof word);
  return word;
}

// Opcodes without prefix 0f whose last four bytes are a number: push, mov to a register, mov to memory.
bool ends_in_number(const ZydisDecodedInstruction& in) {
  if (in.opcode_map != ZYDIS_OPCODE_MAP_DEFAULT || in.length < 5) return false;
  return in.opcode == 0x68 || (in.opcode >= 0xb8 && in.opcode <= 0xbf && in.length <= 6) || in.opcode == 0xc7;
}

template <std::size_t N>
bool has(std::span<const std::byte> code, std::size_t at, const std::uint8_t (&bytes)[N]) {
  return at <= code.size() && N <= code.size() - at && std::memcmp(code.data() + at, bytes, N) == 0;
}

// Bytes of the call through a register that ends at `end`; 0 if there is none.
std::size_t call_before(std::span<const std::byte> code, std::size_t end) {
  const auto byte = [&](std::size_t back) { return std::to_integer<std::uint8_t>(code[end - back]); };
  if (end < 3 || byte(2) != 0xff || (byte(1) & 0xf8) != 0xd0) return 0;
  return (byte(3) & 0xf8) == 0x40 ? 3 : 2;
}

}  // namespace

void add_references(std::span<const std::byte> code, std::uint64_t address, CodeReferences& out) {
  ZydisDecoder decoder;
  ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
  ZydisDecoderEnableMode(&decoder, ZYDIS_DECODER_MODE_MINIMAL, ZYAN_TRUE);
  for (std::size_t at = 0; at < code.size();) {
    ZydisDecodedInstruction in;
    if (!ZYAN_SUCCESS(
            ZydisDecoderDecodeInstruction(&decoder, nullptr, code.data() + at, code.size() - at, &in))) {
      ++at;
      continue;
    }
    const std::size_t end = at + in.length;
    if (in.opcode_map == ZYDIS_OPCODE_MAP_DEFAULT && in.opcode == 0xe8 && in.length >= 5) {
      out.calls.push_back(relative(code, end, address));
    } else if (in.opcode_map == ZYDIS_OPCODE_MAP_DEFAULT && in.opcode == 0x8d && in.length >= 6 &&
               (std::to_integer<std::uint8_t>(code[end - 5]) & 0xc7) == 0x05) {
      out.addresses.push_back(relative(code, end, address));
    } else if (ends_in_number(in)) {
      out.constants.push_back(last_word(code, end));
    }
    at = end;
  }
}

std::vector<ThreadStart> thread_starts(std::span<const std::byte> code, std::uint64_t address) {
  // The function's result becomes the thread's: mov %eax,%edi; then exit, number 60, as glibc and musl write it.
  static constexpr std::uint8_t kGlibc[] = {0x89, 0xc7, 0xb8, 60, 0, 0, 0, 0x0f, 0x05};
  static constexpr std::uint8_t kMusl[] = {0x89, 0xc7, 0x31, 0xc0, 0xb0, 60, 0x0f, 0x05};
  std::vector<ThreadStart> found;
  const std::byte* const bytes = code.data();
  for (std::size_t at = 0; at < code.size();) {
    const void* const next = std::memchr(bytes + at, 0x89, code.size() - at);
    if (next == nullptr) break;
    at = static_cast<std::size_t>(static_cast<const std::byte*>(next) - bytes);
    const std::size_t size = has(code, at, kGlibc) ? sizeof kGlibc : has(code, at, kMusl) ? sizeof kMusl : 0;
    if (size != 0) {
      const std::size_t wide = at > 0 && code[at - 1] == std::byte{0x48} ? 1 : 0;  // mov %rax,%rdi
      if (const std::size_t call = call_before(code, at - wide); call != 0)
        found.push_back({address + at - wide - call, address + at + size});
    }
    ++at;
  }
  return found;
}

bool is_signal_return(std::span<const std::byte> code) {
  // mov $15, %rax; syscall: rt_sigreturn
  static constexpr std::uint8_t kReturn[] = {0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05};
  return has(code, 0, kReturn);
}

}  // namespace fathom::arch
