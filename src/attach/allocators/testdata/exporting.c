/* A program with an allocator of its own inside, as one that is linked with a static library of it: what a shared
   library could want is exported, and the program frees by a function that is not. */
#include <stddef.h>

static char memory[1 << 16];
static size_t used;

__attribute__((noipa)) void* malloc(size_t size) {
  const size_t at = used;
  used += (size + 15) / 16 * 16;
  return used <= sizeof memory ? memory + at : NULL;
}
__attribute__((noipa)) void free(void* block) {
  (void)block;
}
__attribute__((noipa)) void sdallocx(void* block, size_t size, int flags) {
  (void)size;
  (void)flags;
  free(block);
}
#ifdef WITH_MESSAGES
const char* const message = "<jemalloc>: %s: %.*s:%.*s\n";
#endif

int main(void) {
  for (int i = 0; i < 10; ++i) sdallocx(malloc(100), 100, 0);
#ifdef WITH_MESSAGES
  return message[0] == '<' ? 0 : 1;
#else
  return 0;
#endif
}
