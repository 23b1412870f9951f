#include "base/arch/common/context_starts.h"

#include <algorithm>
#include <array>
#include <optional>

namespace fathom::arch {
namespace {

template <class... Bytes>
constexpr auto code_of(Bytes... bytes) {
  return std::array{static_cast<std::byte>(bytes)...};
}
// glibc: mov %rbx,%rsp; then the next context: pop %rdi or mov (%rsp),%rdi; test %rdi,%rdi
constexpr auto kTakeStack = code_of(0x48, 0x89, 0xdc);
constexpr auto kPopNext = code_of(0x5f);
constexpr auto kLoadNext = code_of(0x48, 0x8b, 0x3c, 0x24);
constexpr auto kTestNext = code_of(0x48, 0x85, 0xff);
// Boost: push %rbp; jmp *%rbx (its trampoline); then, where the function returns to, xor %rdi,%rdi; call _exit
constexpr auto kEnter = code_of(0x55, 0xff, 0xe3);
constexpr auto kNoStatus = code_of(0x48, 0x31, 0xff);
constexpr auto kCallFar = code_of(0xe8);
constexpr std::byte kHalt{0xf4};
constexpr std::size_t kMostBytes = 64;  // until the halt that ends both

template <class Part>
bool take(std::span<const std::byte>& code, const Part& part) {
  if (code.size() < part.size() || !std::equal(part.begin(), part.end(), code.begin())) return false;
  code = code.subspan(part.size());
  return true;
}

// The halt behind `start`, where nothing else can end the code.
std::optional<std::size_t> end_of(std::span<const std::byte> code, std::size_t start) {
  const auto near = code.subspan(start, std::min(kMostBytes, code.size() - start));
  const auto halt = std::find(near.begin(), near.end(), kHalt);
  if (halt == near.end()) return std::nullopt;
  return start + static_cast<std::size_t>(halt - near.begin());
}

}  // namespace

std::vector<ContextStart> context_starts(std::span<const std::byte> code) {
  std::vector<ContextStart> found;
  const auto search = [&](const auto& first, auto start_behind) {
    for (auto at = code.begin(); (at = std::search(at, code.end(), first.begin(), first.end())) != code.end();
         ++at) {
      const auto offset = static_cast<std::size_t>(at - code.begin());
      const std::optional<std::size_t> start = start_behind(offset);
      const auto end = start ? end_of(code, *start) : std::nullopt;
      if (end) found.push_back({*start, *end});
    }
  };
  search(kTakeStack, [&](std::size_t offset) -> std::optional<std::size_t> {
    auto rest = code.subspan(offset + kTakeStack.size());
    const bool is_start = (take(rest, kPopNext) || take(rest, kLoadNext)) && take(rest, kTestNext);
    return is_start ? std::optional(offset) : std::nullopt;
  });
  search(kEnter, [&](std::size_t offset) -> std::optional<std::size_t> {
    auto rest = code.subspan(offset + kEnter.size());
    const bool is_start = take(rest, kNoStatus) && take(rest, kCallFar);
    return is_start ? std::optional(offset + kEnter.size()) : std::nullopt;
  });
  return found;
}

}  // namespace fathom::arch
