// The instructions of x86-64 that lead into the kernel and back: what fathom searches for in the target's
// code.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace fathom::arch {
namespace detail {

template <std::size_t n>
constexpr std::array<std::byte, n> bytes_of(const std::uint8_t (&values)[n]) {
  std::array<std::byte, n> bytes{};
  for (std::size_t i = 0; i < n; ++i) bytes[i] = std::byte{values[i]};
  return bytes;
}

}  // namespace detail

inline constexpr auto kCallInstruction = detail::bytes_of({0x0f, 0x05});      // syscall
inline constexpr auto kCallAndReturn = detail::bytes_of({0x0f, 0x05, 0xc3});  // syscall; ret
// mov $15, %rax; syscall: rt_sigreturn, as glibc and musl have it, and a shorter form.
inline constexpr auto kWayBackLong = detail::bytes_of({0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05});
inline constexpr auto kWayBackShort = detail::bytes_of({0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05});

inline constexpr auto kBreakpoint = detail::bytes_of({0xcc});
inline constexpr std::uint64_t kStopsBehindBreakpoint = 1;  // bytes from it to where the thread then stands

}  // namespace fathom::arch
