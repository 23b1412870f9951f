/* An allocator under jemalloc's names with a prefix, small enough to count every reference to it. It hands
 * out memory and never takes it back. In the same file, so that calls from here are its own. */
#include "prefixed.h"

#include <stddef.h>

static char memory[1 << 16];
static size_t used;

/* A static function among the allocator's, as do_rallocx is in jemalloc; its call is no program's call. */
static __attribute__((noinline)) void* grow(void* block, size_t size) {
  char* copy = try_mallocx(size, 0);
  for (size_t i = 0; copy && block && i < size; ++i) copy[i] = ((char*)block)[i];
  return copy;
}
void* try_malloc(size_t size) {
  void* block = memory + used;
  used += (size + 15) / 16 * 16;
  return used <= sizeof memory ? block : NULL;
}
void* try_mallocx(size_t size, int flags) {
  return flags ? NULL : try_malloc(size);
}
void* try_realloc(void* block, size_t size) {
  return grow(block, size);
}
void try_sdallocx(void* block, size_t size, int flags) {
  used -= block == NULL ? size + (size_t)flags : 0;
}
int try_mallctl(const char* name) {
  return name[0];
}
/* Behind all of the above, so that grow() lies between two functions with the prefix in any order of output.
 */
int try_je_inner(int i) {
  return (int)used + i;
}
