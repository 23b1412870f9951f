/* A library that stands in for malloc and free: nobody's known allocator. calloc is chosen at load time. */
#include <stddef.h>

void* malloc(size_t size);
void free(void* block);
void* calloc(size_t count, size_t size);

static char memory[4096];
void* malloc(size_t size) {
  return size < sizeof memory ? memory : NULL;
}
void free(void* block) {
  (void)block;
}
static void* plain_calloc(size_t count, size_t size) {
  return malloc(count * size);
}
static void* (*choose(void))(size_t, size_t) {
  return plain_calloc;
}
void* calloc(size_t count, size_t size) __attribute__((ifunc("choose")));
