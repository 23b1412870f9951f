// Spends its time at the bottom of a recursion with the given number of frames.
//
//   main -> starts_deep -> goes_down (as often as given) -> burns_at_the_bottom
#include <cstdio>
#include <cstdlib>
#include <ctime>

#define APART __attribute__((noipa, noinline))

static volatile unsigned long result;

extern "C" {

APART void burns_at_the_bottom(double seconds) {
  const std::clock_t end = std::clock() + static_cast<std::clock_t>(seconds * CLOCKS_PER_SEC);
  while (std::clock() < end)
    for (unsigned i = 0; i < 20'000; ++i) result = result * 31 + i;
}

APART void goes_down(int depth, double seconds) {
  if (depth > 1)
    goes_down(depth - 1, seconds);
  else
    burns_at_the_bottom(seconds);
  result = result + 1;
}

APART void starts_deep(int depth, double seconds) {
  goes_down(depth, seconds);
  result = result + 1;
}
}

int main(int count, char** words) {
  starts_deep(count > 1 ? std::atoi(words[1]) : 100, count > 2 ? std::atof(words[2]) : 1);
  std::puts("{}");
}
