// Spends all of its time in the loader, which looks up functions on their first call: before each round the
// program resets the linkage table to its initial state. Linked with -z lazy -z norelro.
//
//   main -> binds_again -> (the loader)
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define APART __attribute__((noipa, noinline))

enum {
  kReserved = 3,
  kEntries = 6
};  // of the linkage table: the loader's own, and the minimum number to reset

extern void* table_of_links[] __asm__("_GLOBAL_OFFSET_TABLE_") __attribute__((visibility("hidden")));

static volatile long result;

APART void binds_again(double seconds, void* const* unbound) {
  const clock_t end = clock() + (clock_t)(seconds * CLOCKS_PER_SEC);
  while (clock() < end) {
    for (int i = 0; i < 200; ++i) {
      for (int k = 0; k < kEntries; ++k) ((void* volatile*)table_of_links)[kReserved + k] = unbound[k];
      result += labs(i) + atol("7") + atoi("3") + (long)strlen("text") + abs(-i);
    }
  }
}

int main(int count, char** words) {
  void* unbound[kEntries];
  for (int k = 0; k < kEntries; ++k) unbound[k] = ((void* volatile*)table_of_links)[kReserved + k];
  binds_again(count > 1 ? strtod(words[1], NULL) : 1, unbound);
  puts("{}");
  return 0;
}
