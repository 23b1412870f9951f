/* A program that has jemalloc linked into it and calls what programs call. Runs for as many seconds as it is told. */
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static void* kept[1000];

/* With BY_TABLE no code names the functions that free and resize: a table of pointers does. */
struct allocator {
  void* (*resize)(void*, size_t);
  void (*release)(void*);
};
#ifdef BY_TABLE
static const struct allocator table[2] = {{NULL, NULL}, {realloc, free}};
static const struct allocator* volatile used = &table[1];
#define realloc used->resize
#define free used->release
#endif

__attribute__((noinline)) static void* make(unsigned kind, size_t size) {
  void* block = NULL;
  switch (kind & 3) {
    case 0:
      return malloc(size);
    case 1:
      return calloc(size, 2);
    case 2:
      return aligned_alloc(64, (size + 63) & ~(size_t)63);
    default:
      return posix_memalign(&block, 128, size) == 0 ? block : NULL;
  }
}

int main(int argc, char** argv) {
  const time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 0);
  unsigned random = 1;
  do {
    for (unsigned i = 0; i < 1000; ++i) {
      random = random * 1664525u + 1013904223u;
      const unsigned at = random >> 8 & 511, size = (random >> 20) + 1;
      if (kept[at] != NULL && (random & 0x40) != 0) {
        kept[at] = realloc(kept[at], size);
      } else {
        free(kept[at]);
        kept[at] = make(random >> 5, size);
      }
    }
    usleep(1000);
  } while (time(NULL) < end);
  return 0;
}
