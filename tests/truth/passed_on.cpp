// Throws in a loop, through frames with and without a frame pointer: a stack walk during the propagation of
// the exception must find these callers, or none.
//
//   main -> throws_in_a_loop -> catches -> passes_on -> goes_deeper (four times) -> throws
#include <alloca.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <stdexcept>

#define APART __attribute__((noipa, noinline))

static volatile unsigned long result;

struct Local {
  unsigned long value = 1;
  ~Local() { result = result + value; }
};

extern "C" {

APART void throws(unsigned long n) {
  throw n;
}

APART void goes_deeper(unsigned long n, int depth) {
  const Local local;
  if (depth == 0)
    throws(n);
  else
    goes_deeper(n + local.value, depth - 1);
  result = result + 1;
}

// Its frame size is an argument, so the compiler needs the frame pointer.
APART void passes_on(unsigned long n) {
  const Local local;
  auto* room = static_cast<char*>(alloca(64 + n % 512));
  std::memset(room, static_cast<int>(n), 64);
  goes_deeper(n + static_cast<unsigned char>(room[7]), 3);
  result = result + static_cast<unsigned char>(room[3]);
}

APART void catches(unsigned long n) {
  try {
    passes_on(n);
  } catch (unsigned long caught) {
    result = result + caught;
  }
}

APART void throws_in_a_loop(double seconds) {
  const std::clock_t end = std::clock() + static_cast<std::clock_t>(seconds * CLOCKS_PER_SEC);
  for (unsigned long n = 0; std::clock() < end; ++n)
    for (int i = 0; i < 100; ++i) catches(n + static_cast<unsigned long>(i));
  result = result + 1;
}
}

int main(int count, char** words) {
  throws_in_a_loop(count > 1 ? std::atof(words[1]) : 1);
  std::puts("{}");
}
