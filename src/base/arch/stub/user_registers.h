// The registers of a stopped thread of another process: none can be read.
#pragma once

#include <array>
#include <cerrno>
#include <cstdint>

#include "base/arch/dwarf_registers.h"

namespace fathom::arch {

struct UserRegisters {
  std::uint64_t pc = 0, sp = 0;
};

inline bool get_registers(int, UserRegisters&) {
  errno = ENOSYS;
  return false;
}
inline bool set_registers(int, const UserRegisters&) {
  errno = ENOSYS;
  return false;
}

inline std::uint64_t pc(const UserRegisters& registers) {
  return registers.pc;
}
inline std::uint64_t sp(const UserRegisters& registers) {
  return registers.sp;
}
inline std::uint64_t fp(const UserRegisters&) {
  return 0;
}
inline void set_pc(UserRegisters& registers, std::uint64_t value) {
  registers.pc = value;
}
inline void set_sp(UserRegisters& registers, std::uint64_t value) {
  registers.sp = value;
}
inline std::uint64_t thread_pointer(const UserRegisters&) {
  return 0;
}
inline bool runs_64_bit_code(const UserRegisters&) {
  return false;
}
inline std::array<std::uint64_t, kDwarfRegisters> by_dwarf_number(const UserRegisters&) {
  return {};
}
inline std::array<std::uint64_t, 1> general_registers(const UserRegisters& registers) {
  return {registers.pc};
}
inline void prepare_call(UserRegisters& registers, std::uint64_t instruction, std::uint64_t stack, long,
                         const std::array<std::uint64_t, 6>& = {}) {
  registers = {instruction, stack};
}
inline std::uint64_t prepare_function(UserRegisters& registers, std::uint64_t function, std::uint64_t stack,
                                      const std::array<std::uint64_t, 4>&) {
  registers = {function, stack};
  return stack;
}
inline std::uint64_t call_result(const UserRegisters&) {
  return static_cast<std::uint64_t>(-ENOSYS);
}

}  // namespace fathom::arch
