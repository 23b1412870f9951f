// stacks_zoo: a program whose stacks are hard to walk. Every scene spends its time in one kind of stack until
// its deadline; the names of the functions that use the time begin with zoo_, and the tests look for them.
#pragma once

#include <chrono>
#include <cstdint>

// Keeps the function, its name and its frame: no inlining, cloning or tail call into it.
#define ZOO_FUNCTION extern "C" __attribute__((noipa))

namespace zoo {

using Deadline = std::chrono::steady_clock::time_point;
inline bool passed(Deadline deadline) {
  return std::chrono::steady_clock::now() >= deadline;
}
inline Deadline in_ms(int ms) {
  return std::chrono::steady_clock::now() + std::chrono::milliseconds(ms);
}

// frames.cpp
void scene_alloca(Deadline);
void scene_aligned(Deadline);
void scene_huge(Deadline);
void scene_recursion(Deadline);
void scene_assembly(Deadline);
// signals.cpp
void scene_signal(Deadline);
void scene_alternate_stack(Deadline);
// libraries.cpp
void scene_plt(Deadline);
void scene_dlopen(Deadline);
void scene_libc(Deadline);
void scene_vdso(Deadline);
// jit.cpp
void scene_jit(Deadline);
void write_perf_map();
void remove_perf_map();
// children.cpp
void scene_threads(Deadline);
void scene_fork(Deadline);
void scene_exec(Deadline);
int child_main();

}  // namespace zoo

// Arithmetic that the compiler cannot shorten.
ZOO_FUNCTION std::uint64_t zoo_burn(std::uint64_t rounds);
