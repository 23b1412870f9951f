// A program to look at, linked statically: it computes in one function and keeps memory in another, until it is killed.
#include <stdlib.h>
#include <string.h>
#include <time.h>

static volatile unsigned long total;

__attribute__((noinline)) void spin_here(void) {
  for (unsigned long i = 0; i < 2000000; ++i) total += i * i;
}

__attribute__((noinline)) void* keep_block(void** last) {
  void** block = malloc(64 * 1024);
  if (block == NULL) abort();
  memset(block, 1, 64 * 1024);
  *block = *last;
  *last = block;
  return block;
}

int main(void) {
  void* last = NULL;
  for (unsigned long round = 0;; ++round) {
    spin_here();
    free(malloc(100 + round % 1000));
    if (round < 20000) total += (unsigned long)keep_block(&last);  // at most 1.3 GB
    const struct timespec pause = {0, 2000000};
    nanosleep(&pause, NULL);
  }
}
