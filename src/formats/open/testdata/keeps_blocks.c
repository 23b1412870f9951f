// Keeps a known number of blocks and writes heap dumps of itself along the way, if its allocator can.
// Arguments: rounds, and the number of blocks that each round keeps. Every round also allocates and frees as
// many others.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static void** kept;

__attribute__((noinline)) void* keep_small(void) {
  char* block = malloc(200);  // in the size class 224
  block[0] = 1;
  return block;
}
__attribute__((noinline)) void* keep_large(void) {
  char* block = malloc(3 << 20);  // a size class of its own
  block[0] = 1;
  return block;
}
__attribute__((noinline)) void come_and_go(void) {
  char* block = malloc(200);
  memset(block, 1, 8);
  free(block);
}

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? atoi(argv[1]) : 1, blocks = argc > 2 ? atoi(argv[2]) : 1000;
  int (*control)(const char*, void*, size_t*, void*, size_t) =
      (int (*)(const char*, void*, size_t*, void*, size_t))dlsym(RTLD_DEFAULT, "mallctl");
  if (control == NULL) return 77;
  kept = calloc((size_t)rounds * (size_t)blocks + 1, sizeof *kept);
  kept[rounds * blocks] = keep_large();
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < blocks; ++i) {
      kept[round * blocks + i] = keep_small();
      come_and_go();
    }
    if (control("prof.dump", NULL, NULL, NULL, 0) != 0) return 78;
  }
  // All of these blocks are freed before exit.
  for (int i = 0; i <= rounds * blocks; ++i) free(kept[i]);
  free(kept);
  return 0;
}
