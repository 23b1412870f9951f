// Code generated at run time, as by a just-in-time compiler: in anonymous memory, with frame pointers and no
// tables, named only by /tmp/perf-PID.map.
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <string>

#include "zoo.h"

namespace {

// uint64_t zoo_jit_loop(uint64_t rounds)
constexpr std::array<unsigned char, 23> kLoop{0x55,                             // push %rbp
                                              0x48, 0x89, 0xe5,                 // mov  %rsp,%rbp
                                              0x48, 0x89, 0xf8,                 // mov  %rdi,%rax
                                              0x48, 0x69, 0xc0, 0x6d, 0, 0, 0,  // imul $109,%rax,%rax
                                              0x48, 0xff, 0xcf,                 // dec  %rdi
                                              0x75, 0xf4,                       // jne  to the imul
                                              0x5d,                             // pop  %rbp
                                              0xc3,                             // ret
                                              0x90, 0x90};

// uint64_t zoo_jit_call(uint64_t rounds, uint64_t (*callee)(uint64_t))
constexpr std::array<unsigned char, 8> kCall{0x55,              // push %rbp
                                             0x48, 0x89, 0xe5,  // mov  %rsp,%rbp
                                             0xff, 0xd6,        // call *%rsi
                                             0x5d,              // pop  %rbp
                                             0xc3};             // ret

constexpr std::size_t kCallOffset = 256;

unsigned char* code() {
  static unsigned char* const page = [] {
    void* memory = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    auto* bytes = static_cast<unsigned char*>(memory);
    std::memcpy(bytes, kLoop.data(), kLoop.size());
    std::memcpy(bytes + kCallOffset, kCall.data(), kCall.size());
    mprotect(memory, 4096, PROT_READ | PROT_EXEC);
    return bytes;
  }();
  return page;
}

std::string perf_map_path() {
  return "/tmp/perf-" + std::to_string(getpid()) + ".map";
}

}  // namespace

ZOO_FUNCTION std::uint64_t zoo_called_by_jit(std::uint64_t rounds) {
  return zoo_burn(rounds) + 1;
}

namespace zoo {

void scene_jit(Deadline deadline) {
  const auto loop = reinterpret_cast<std::uint64_t (*)(std::uint64_t)>(code());
  const auto call = reinterpret_cast<std::uint64_t (*)(std::uint64_t, std::uint64_t(*)(std::uint64_t))>(
      code() + kCallOffset);
  while (!passed(deadline)) {
    loop(50'000);
    call(20'000, zoo_called_by_jit);
  }
}

void write_perf_map() {
  if (std::FILE* file = std::fopen(perf_map_path().c_str(), "w")) {
    std::fprintf(file, "%lx %zx zoo_jit_loop\n", reinterpret_cast<unsigned long>(code()), kLoop.size());
    std::fprintf(file, "%lx %zx zoo_jit_call\n", reinterpret_cast<unsigned long>(code() + kCallOffset),
                 kCall.size());
    std::fclose(file);
  }
}

void remove_perf_map() {
  unlink(perf_map_path().c_str());
}

}  // namespace zoo
