#include "testdata/call_shapes.h"

#include <alloca.h>

#include <cstring>

namespace {

// The compiler must neither drop a local nor turn a call into a jump.
template <class T>
void keep(T* value) {
  asm volatile("" : : "r"(value) : "memory");
}

[[gnu::noinline]] void recursion(int depth, Leaf leaf, void* argument) {
  if (depth == 0) {
    leaf(argument);
  } else {
    recursion(depth - 1, leaf, argument);
  }
  keep(argument);
}

[[gnu::noinline]] void variable_size(int size, Leaf leaf, void* argument) {
  auto* room = static_cast<char*>(alloca(static_cast<std::size_t>(size)));
  std::memset(room, 1, static_cast<std::size_t>(size));
  keep(room);
  leaf(argument);
  keep(room);
}

[[gnu::noinline]] void realigned(int size, Leaf leaf, void* argument) {
  alignas(64) char aligned[128];
  auto* room = static_cast<char*>(alloca(static_cast<std::size_t>(size)));
  std::memset(aligned, 2, sizeof aligned);
  keep(aligned);
  keep(room);
  leaf(argument);
  keep(aligned);
}

[[gnu::noinline]] void large(Leaf leaf, void* argument) {
  char room[100000];
  std::memset(room, 3, sizeof room);
  keep(room);
  leaf(argument);
  keep(room);
}

[[gnu::noinline]] void many_saved(int value, Leaf leaf, void* argument) {
  long a = value, b = a * 3, c = a * 5, d = a * 7, e = a * 11, f = a * 13, g = a * 17;
  asm volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f), "+r"(g));
  leaf(argument);
  long sum = a + b + c + d + e + f + g;
  keep(&sum);
}

}  // namespace

extern const CallShapes SHAPES = {recursion, variable_size, realigned, large, many_saved};
