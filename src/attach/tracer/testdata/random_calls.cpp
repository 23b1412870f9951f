#include "testdata/random_calls.h"

#include <alloca.h>

#include <cstring>

namespace {

// The compiler must neither drop a local nor turn a call into a jump.
template <class T>
void keep(T* value) {
  asm volatile("" : : "r"(value) : "memory");
}

void any(CallWalk& walk, int depth);

// Some more calls from here, of functions or of the leaf.
[[gnu::always_inline]] inline void go_on(CallWalk& walk, int depth) {
  const int times = static_cast<int>(walk.draw() % 3) + 1;
  for (int i = 0; i < times && walk.calls_left > 0; ++i) {
    if (depth > 0 && walk.draw() % 4 != 0) {
      any(walk, depth - 1);
    } else {
      --walk.calls_left;
      walk.leaf(walk);
    }
  }
}

[[gnu::noinline]] void small(CallWalk& walk, int depth) {
  go_on(walk, depth);
  keep(&walk);
}

[[gnu::noinline]] void large(CallWalk& walk, int depth) {
  char room[3000];
  std::memset(room, 1, sizeof room);
  keep(room);
  go_on(walk, depth);
  keep(room);
}

// The frame is found by rbp, whatever the options.
[[gnu::noinline]] void variable_size(CallWalk& walk, int depth) {
  const auto size = walk.draw() % 200 + 1;
  auto* room = static_cast<char*>(alloca(size));
  std::memset(room, 2, size);
  keep(room);
  go_on(walk, depth);
  keep(room);
}

[[gnu::noinline]] void realigned(CallWalk& walk, int depth) {
  alignas(64) char aligned[128];
  std::memset(aligned, 3, sizeof aligned);
  keep(aligned);
  go_on(walk, depth);
  keep(aligned);
}

// rbp is saved and holds any number meanwhile.
[[gnu::noinline]] void many_saved(CallWalk& walk, int depth) {
  auto a = walk.draw(), b = a * 3, c = a * 5, d = a * 7, e = a * 11, f = a * 13, g = a * 17;
  asm volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f), "+r"(g));
  go_on(walk, depth);
  auto sum = a + b + c + d + e + f + g;
  keep(&sum);
}

[[gnu::noinline]] void any(CallWalk& walk, int depth) {
  switch (walk.draw() % 6) {
    case 0:
    case 1:
      small(walk, depth);
      break;
    case 2:
      large(walk, depth);
      break;
    case 3:
      variable_size(walk, depth);
      break;
    case 4:
      realigned(walk, depth);
      break;
    default:
      many_saved(walk, depth);
  }
  keep(&walk);
}

}  // namespace

extern void (*const CALLS)(CallWalk&, int depth) = any;
