/* A program that has mimalloc linked into it and calls it by its own names. Runs for as many seconds as it is told. */
#ifdef WITH_ALL_OF_IT
#include <static.c>
#endif
#include <mimalloc.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void* kept[1000];

__attribute__((noinline)) static void* make(unsigned kind, size_t size) {
  switch (kind & 3) {
    case 0:
      return mi_malloc(size);
    case 1:
      return mi_calloc(size, 2);
    case 2:
      return mi_malloc_aligned(size, 64);
    default:
      return mi_zalloc(size);
  }
}

int main(int argc, char** argv) {
  const time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 0);
  unsigned random = 1;
#ifdef WITH_HEAPS
  mi_heap_t* heap = mi_heap_new();
  void* of_heap = mi_heap_malloc(heap, 100);
  of_heap = mi_heap_realloc(heap, of_heap, 3000);
  memset(of_heap, 1, 3000);
  mi_heap_destroy(heap);
#endif
  do {
    for (unsigned i = 0; i < 1000; ++i) {
      random = random * 1664525u + 1013904223u;
      const unsigned at = random >> 8 & 511, size = (random >> 20) + 1;
      if (kept[at] != NULL && (random & 0x40) != 0) {
        kept[at] = mi_realloc(kept[at], size);
      } else {
        mi_free(kept[at]);
        kept[at] = make(random >> 5, size);
      }
      if (kept[at] != NULL) memset(kept[at], 1, size);
    }
    usleep(1000);
  } while (time(NULL) < end);
  return 0;
}
