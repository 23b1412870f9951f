// The registers of a stopped thread of another process, by what they are for.
#pragma once

#include <sys/ptrace.h>
#include <sys/user.h>

#include <array>
#include <cstdint>

#include "base/arch/dwarf_registers.h"

namespace fathom::arch {

using UserRegisters = user_regs_struct;

// Of a thread that the caller traces and that stands. false: errno says why not.
inline bool get_registers(int tid, UserRegisters& registers) {
  return ::ptrace(PTRACE_GETREGS, tid, nullptr, &registers) == 0;
}
inline bool set_registers(int tid, const UserRegisters& registers) {
  return ::ptrace(PTRACE_SETREGS, tid, nullptr, &registers) == 0;
}

inline std::uint64_t pc(const UserRegisters& registers) {
  return registers.rip;
}
inline std::uint64_t sp(const UserRegisters& registers) {
  return registers.rsp;
}
inline std::uint64_t fp(const UserRegisters& registers) {
  return registers.rbp;
}
inline void set_pc(UserRegisters& registers, std::uint64_t value) {
  registers.rip = value;
}
inline void set_sp(UserRegisters& registers, std::uint64_t value) {
  registers.rsp = value;
}
// Where the C library keeps what belongs to the thread.
inline std::uint64_t thread_pointer(const UserRegisters& registers) {
  return registers.fs_base;
}
inline bool runs_64_bit_code(const UserRegisters& registers) {
  return (registers.cs & 0xffff) == 0x33;
}

// System V ABI, figure 3.36.
inline std::array<std::uint64_t, kDwarfRegisters> by_dwarf_number(const UserRegisters& r) {
  return {r.rax, r.rdx, r.rcx, r.rbx, r.rsi, r.rdi, r.rbp, r.rsp, r.r8,
          r.r9,  r.r10, r.r11, r.r12, r.r13, r.r14, r.r15, r.rip};
}
// Those that may hold the address of a function that is called next.
inline std::array<std::uint64_t, 15> general_registers(const UserRegisters& r) {
  return {r.rax, r.rbx, r.rcx, r.rdx, r.rsi, r.rdi, r.rbp, r.r8,
          r.r9,  r.r10, r.r11, r.r12, r.r13, r.r14, r.r15};
}

// So that the thread makes a system call next: `instruction` is one (base/arch/call_instructions.h), `stack` the
// stack that it has meanwhile.
inline void prepare_call(UserRegisters& registers, std::uint64_t instruction, std::uint64_t stack,
                         long number, const std::array<std::uint64_t, 6>& arguments = {}) {
  registers.rip = instruction;
  registers.rsp = stack;
  registers.rax = static_cast<unsigned long long>(number);
  registers.orig_rax = static_cast<unsigned long long>(-1);
  registers.rdi = arguments[0], registers.rsi = arguments[1], registers.rdx = arguments[2];
  registers.r10 = arguments[3], registers.r8 = arguments[4], registers.r9 = arguments[5];
}
// So that the thread runs a function of the C calling convention next, with `stack` free below. Gives where the address
// that it returns to has to be written.
inline std::uint64_t prepare_function(UserRegisters& registers, std::uint64_t function, std::uint64_t stack,
                                      const std::array<std::uint64_t, 4>& arguments) {
  registers.rip = function;
  registers.rsp = (stack & ~std::uint64_t{15}) - 8;
  registers.rax = 0;
  registers.orig_rax = static_cast<unsigned long long>(-1);
  registers.eflags &= ~std::uint64_t{0x400};  // strings go upwards
  registers.rdi = arguments[0], registers.rsi = arguments[1], registers.rdx = arguments[2],
  registers.rcx = arguments[3];
  return registers.rsp;
}
// What the kernel, or the function, answered.
inline std::uint64_t call_result(const UserRegisters& registers) {
  return registers.rax;
}

}  // namespace fathom::arch
