/* Names that look like an allocator's and are none. */
#include <stdlib.h>

void* xmalloc(size_t size) {
  return malloc(size);
}
void xfree(void* block) {
  free(block);
}
void* arena_malloc(size_t size) {
  return xmalloc(size);
}
/* One sign of jemalloc alone, and without arena_malloc's other half. */
void arena_free_list(void* block) {
  xfree(block);
}
/* A static function that happens to have a famous name. */
static __attribute__((noinline)) int valloc_count(int i) {
  return i + 1;
}
int (*volatile counter)(int) = valloc_count;
int main(int argc, char** argv) {
  (void)argv;
  xfree(arena_malloc((size_t)counter(argc)));
  arena_free_list(xmalloc(3));
  return 0;
}
