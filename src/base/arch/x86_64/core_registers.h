// A thread's state in a core file. Source: struct elf_prstatus of include/linux/elfcore.h with the registers of
// base/arch/x86/include/asm/elf.h.
#pragma once

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/arch/restart.h"
#include "base/arch/user_registers.h"

namespace fathom::arch {

// Offsets in the note NT_PRSTATUS, and its size.
inline constexpr std::size_t kStatusSignal = 12, kStatusTid = 32, kStatusRegisters = 112, kStatusBytes = 336;

// Of by_dwarf_number(), in its order.
inline constexpr std::array<std::string_view, kDwarfRegisters> kRegisterNames = {
    "rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8",
    "r9",  "r10", "r11", "r12", "r13", "r14", "r15", "rip"};

struct CallInProgress {
  std::int32_t number = -1;
  std::array<std::uint64_t, 4> arguments = {};
};
// The system call that the thread was blocked in when it was stopped: the kernel would start it again.
inline std::optional<CallInProgress> call_in_progress(const UserRegisters& registers) {
  const UserRegisters again = as_in_user_mode(registers);
  if (again.rip == registers.rip) return std::nullopt;
  return CallInProgress{static_cast<std::int32_t>(registers.orig_rax),
                        {registers.rdi, registers.rsi, registers.rdx, registers.r10}};
}

}  // namespace fathom::arch
