#include "base/arch/signal_frame.h"

#include <elf.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

#include <cstring>

namespace fathom::arch {
namespace {

// Linux base/arch/x86/include/uapi/asm/sigcontext.h and ucontext.h.
constexpr std::uint32_t kFpMagic1 = 0x46505853, kFpMagic2 = 0x46505845;
constexpr std::size_t kFpSoftwareBytes = 464;  // in the fxsave area
constexpr std::size_t kLegacyBytes = 512, kXsaveHeader = 64;
constexpr unsigned long kFlagXstate = 1, kFlagSs = 2, kFlagStrictSs = 4;

struct FpSoftwareBytes {
  std::uint32_t magic1, extended_size;
  std::uint64_t xfeatures;
  std::uint32_t xstate_size, padding[7];
};
static_assert(sizeof(FpSoftwareBytes) == 48);

ucontext_t signal_context(const UserRegisters& registers, std::uint64_t mask, std::uint64_t vectors) {
  ucontext_t context{};
  context.uc_flags = kFlagSs | kFlagStrictSs | (vectors != 0 ? kFlagXstate : 0);
  context.uc_stack.ss_flags = 0x7f;  // no valid mode: the kernel then leaves the alternate stack as it is
  auto& to = context.uc_mcontext.gregs;
  const auto set = [&](int index, unsigned long long value) { to[index] = static_cast<greg_t>(value); };
  set(REG_R8, registers.r8), set(REG_R9, registers.r9), set(REG_R10, registers.r10);
  set(REG_R11, registers.r11), set(REG_R12, registers.r12), set(REG_R13, registers.r13);
  set(REG_R14, registers.r14), set(REG_R15, registers.r15), set(REG_RDI, registers.rdi);
  set(REG_RSI, registers.rsi), set(REG_RBP, registers.rbp), set(REG_RBX, registers.rbx);
  set(REG_RDX, registers.rdx), set(REG_RAX, registers.rax), set(REG_RCX, registers.rcx);
  set(REG_RSP, registers.rsp), set(REG_RIP, registers.rip), set(REG_EFL, registers.eflags);
  set(REG_CSGSFS, (registers.cs & 0xffff) | (registers.ss & 0xffff) << 48);
  context.uc_mcontext.fpregs = reinterpret_cast<fpregset_t>(vectors);
  std::memcpy(&context.uc_sigmask, &mask, kSigsetBytes);
  return context;
}

}  // namespace

std::vector<std::byte> vector_registers(int tid) {
  std::vector<std::byte> state(16 * 1024);
  iovec where{state.data(), state.size()};
  if (::ptrace(PTRACE_GETREGSET, tid, NT_X86_XSTATE, &where) != 0 ||
      where.iov_len < kLegacyBytes + kXsaveHeader)
    return {};
  state.resize(where.iov_len);
  // The kernel leaves the mask of the features that it saves at the start of the software bytes.
  FpSoftwareBytes software{};
  std::memcpy(&software.xfeatures, state.data() + kFpSoftwareBytes, sizeof(software.xfeatures));
  software.magic1 = kFpMagic1;
  software.xstate_size = static_cast<std::uint32_t>(state.size());
  software.extended_size = software.xstate_size + sizeof(kFpMagic2);
  std::memcpy(state.data() + kFpSoftwareBytes, &software, sizeof(software));
  state.resize(state.size() + sizeof(kFpMagic2));
  std::memcpy(state.data() + state.size() - sizeof(kFpMagic2), &kFpMagic2, sizeof(kFpMagic2));
  return state;
}

void put_signal_frame(std::span<std::byte> out, std::uint64_t way_back, const UserRegisters& registers,
                      std::uint64_t mask, std::uint64_t vectors) {
  const auto context = signal_context(registers, mask, vectors);
  std::memcpy(out.data(), &way_back, sizeof(way_back));
  std::memcpy(out.data() + sizeof(way_back), &context, kSignalFrameBytes - sizeof(way_back));
}

}  // namespace fathom::arch
