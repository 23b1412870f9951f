/* A program that needs all of libc's allocation functions, to be linked statically. */
#define _GNU_SOURCE
#include <malloc.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  (void)argv;
  void* block = malloc((size_t)argc);
  block = realloc(block, 100);
  block = reallocarray(block, 10, 20);
  free(block);
  free(calloc(2, 3));
  free(aligned_alloc(64, 128));
  free(memalign(64, 128));
  free(valloc(10));
  if (posix_memalign(&block, 64, 64) == 0) free(block);
  return 0;
}
