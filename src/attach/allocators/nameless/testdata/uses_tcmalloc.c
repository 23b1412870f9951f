/* A program that has tcmalloc linked into it and calls it by its own names. Runs for as many seconds as it is told. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

void* tc_malloc(size_t size);
void* tc_malloc_skip_new_handler(size_t size);
void* tc_calloc(size_t count, size_t size);
void* tc_realloc(void* block, size_t size);
void* tc_memalign(size_t alignment, size_t size);
int tc_posix_memalign(void** block, size_t alignment, size_t size);
void* tc_valloc(size_t size);
void* tc_new_nothrow(size_t size, const void* nothrow);
void tc_free(void* block);
void tc_free_sized(void* block, size_t size);
size_t tc_malloc_size(void* block);
size_t nallocx(size_t size, int flags);

static void* kept[1000];
static size_t sizes[1000];

__attribute__((noinline)) static void* make(unsigned kind, size_t size) {
  void* block = NULL;
  switch (kind & 7) {
    case 0:
      return tc_malloc(size);
    case 1:
      return tc_calloc(size, 1);
    case 2:
      return tc_memalign(64, size);
    case 3:
      return tc_posix_memalign(&block, 128, size) == 0 ? block : NULL;
    case 4:
      return tc_valloc(size);
    case 5:
      return tc_malloc_skip_new_handler(size);
    default:
      return tc_new_nothrow(size, NULL);
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
        kept[at] = tc_realloc(kept[at], size);
        sizes[at] = 0;
      } else {
        if (kept[at] != NULL && sizes[at] != 0 && tc_malloc_size(kept[at]) == nallocx(sizes[at], 0))
          tc_free_sized(kept[at], sizes[at]);
        else
          tc_free(kept[at]);
        const unsigned kind = random >> 5 & 7;
        kept[at] = make(kind, size);
        sizes[at] = kind < 2 ? size : 0;
      }
      if (kept[at] != NULL) memset(kept[at], 1, size);
    }
    usleep(1000);
  } while (time(NULL) < end);
  return 0;
}
