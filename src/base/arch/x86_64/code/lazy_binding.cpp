#include "base/arch/common/lazy_binding.h"

#include <algorithm>
#include <array>

#include "base/cursor.h"

namespace fathom::arch {
namespace {

// mov %rsp,%rbx; and $-64,%rsp; sub SIZE(%rip),%rsp, near the start of the function.
constexpr std::array kMakes{std::byte{0x48}, std::byte{0x89}, std::byte{0xe3}, std::byte{0x48},
                            std::byte{0x83}, std::byte{0xe4}, std::byte{0xc0}, std::byte{0x48},
                            std::byte{0x2b}, std::byte{0x25}};
constexpr std::size_t kWithin = 32;  // bytes
constexpr std::uint8_t kRbx = 3;     // DWARF's number
constexpr std::int32_t kCfaAboveRbx = 32;

}  // namespace

std::optional<BindingFrame> binding_frame(std::span<const std::byte> code, ElfAddress start) {
  const auto beginning = code.first(std::min(code.size(), kWithin));
  const auto found = std::search(beginning.begin(), beginning.end(), kMakes.begin(), kMakes.end());
  if (found == beginning.end()) return std::nullopt;
  const auto at = static_cast<std::size_t>(found - beginning.begin()) + kMakes.size();
  Cursor in(code.subspan(at));
  const auto distance = in.read<std::int32_t>();
  if (!in.ok()) return std::nullopt;
  const std::size_t from = at + sizeof distance;
  return BindingFrame{from, {start.value + from + static_cast<std::uint64_t>(std::int64_t{distance})}};
}

bool finds_binding_frame(const unwind_rule& rule) {
  return rule.cfa == CFA_REGISTER && rule.reg == kRbx && rule.cfa_offset == kCfaAboveRbx &&
         rule.fp == FP_SAME;
}

}  // namespace fathom::arch
