/* Calls allocation functions by name and says of each whether it did what its shape promises:
 *
 *   exercise_allocator NAME=SHAPE...        SHAPE: a number of enum tracer_shape
 *
 * Then, if a patched copy of a library or of this program is loaded (see testing_patched_copy.h), the
 * counters in it, one line each: how often each patched entry was gone through. */
#define _GNU_SOURCE
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/abi/heap_tracer.h"

typedef void* (*allocation_function)();

#ifdef EXERCISE_STATIC
/* A static program has no loader to look names up. */
// clang-format off
#define NAMES(X) \
  X(malloc) X(calloc) X(realloc) X(free) X(posix_memalign) X(aligned_alloc) X(memalign) X(valloc) X(reallocarray)
/* Not in every libc. */
#define WEAK_NAMES(X) X(pvalloc) X(__libc_malloc) X(__libc_free) X(__libc_realloc)
// clang-format on
#define DECLARE(name) extern char code_##name[] __asm__(#name);
#define DECLARE_WEAK(name) extern char code_##name[] __asm__(#name) __attribute__((weak));
NAMES(DECLARE)
WEAK_NAMES(DECLARE_WEAK)
static allocation_function function_named(const char* name) {
#define COMPARE(candidate) \
  if (strcmp(name, #candidate) == 0) return (allocation_function)(uintptr_t)code_##candidate;
  NAMES(COMPARE)
  WEAK_NAMES(COMPARE)
  return NULL;
}
#else
#include <dlfcn.h>
static allocation_function function_named(const char* name) {
  return (allocation_function)(uintptr_t)dlsym(RTLD_DEFAULT, name);
}
#endif

static const size_t sizes[] = {1, 24, 200, 1000, 5000, 40000, 3u << 20};
#define SIZES (sizeof sizes / sizeof *sizes)
static const size_t alignment = 64;

static void fill(void* block, size_t size, unsigned seed) {
  for (size_t i = 0; i < size; ++i) ((unsigned char*)block)[i] = (unsigned char)(i * 7 + seed);
}
static int holds(const void* block, size_t size, unsigned seed) {
  for (size_t i = 0; i < size; ++i)
    if (((const unsigned char*)block)[i] != (unsigned char)(i * 7 + seed)) return 0;
  return 1;
}
static int is_zero(const void* block, size_t size) {
  for (size_t i = 0; i < size; ++i)
    if (((const unsigned char*)block)[i] != 0) return 0;
  return 1;
}
/* Usable in full, and apart from another block. */
static int usable(void* block, size_t size) {
  void* other = malloc(size);
  fill(block, size, 1);
  fill(other, size, 2);
  const int good = holds(block, size, 1) && holds(other, size, 2);
  free(other);
  return good;
}

/* mimalloc's functions of a heap, which is the first argument. */
static const char* exercise_in_heap(allocation_function function, const char* name, int shape, size_t size) {
  void* heap = function_named("mi_heap_get_default")();
  const size_t before = 100;
  const int aligned = strstr(name, "aligned") != NULL;
  const size_t more = aligned ? alignment : 0;
  size_t got = size;
  void* block = NULL;
  switch (shape) {
    case TRACER_ALIGNED:
    case TRACER_NEW_IN:
      if (strstr(name, "_small") != NULL && size > 1000) return NULL;
      block = function(heap, size, more, (size_t)0);
      break;
    case TRACER_CALLOC_IN:
    case TRACER_NEW_ARRAY_IN:
      block = function(heap, (size_t)3, size, more, (size_t)0);
      got = 3 * size;
      break;
    case TRACER_REALLOC_IN:
      fill(block = malloc(before), before, 3);
      block = function(heap, block, size, more, (size_t)0);
      break;
    case TRACER_REALLOCARRAY_IN:
      fill(block = malloc(before), before, 3);
      block = function(heap, block, (size_t)2, size, more, (size_t)0);
      got = 2 * size;
      break;
    default:
      return "unknown shape of a heap";
  }
  if (block == NULL) return "no block";
  /* A block that was not aligned stays as far off as it was. */
  const int moved = strstr(name, "_re") != NULL;
  if (!moved && (uintptr_t)block % (aligned ? alignment : 1) != 0) return "block is not aligned";
  if (moved && !holds(block, got < before ? got : before, 3)) return "content is lost";
  if (!moved && (strstr(name, "zalloc") != NULL || strstr(name, "calloc") != NULL) && !is_zero(block, got))
    return "block is not zero";
  if (!usable(block, got)) return "block is not usable";
  free(block);
  return NULL;
}

static const char* exercise(const char* name, int shape, size_t size) {
  const allocation_function function = function_named(name);
  if (function == NULL) return "not there";
  if (strncmp(name, "mi_heap_", 8) == 0) return exercise_in_heap(function, name, shape, size);
  const int aligned = strstr(name, "align") != NULL;
  /* What stands behind the arguments of the shape: an alignment, or jemalloc's flags. */
  const size_t more = aligned ? alignment : 0;
  char nothrow = 0;
  void* block = NULL;
  switch (shape) {
    case TRACER_NEW:
    case TRACER_MALLOC:
      if (strstr(name, "_small") != NULL && size > 1000) return NULL;
      if (strstr(name, "nothrow") != NULL && !aligned)
        block = function(size, &nothrow);
      else
        block = function(size, more, strstr(name, "nothrow") != NULL ? (uintptr_t)&nothrow : (uintptr_t)0);
      if (block == NULL || !usable(block, size)) return "block is not usable";
      if ((uintptr_t)block % (aligned ? alignment : 1) != 0) return "block is not aligned";
      if (strstr(name, "zalloc") != NULL) {
        free(block);
        if (!is_zero(block = function(size, more, (size_t)0), size)) return "block is not zero";
      }
      break;
    case TRACER_CALLOC:
    case TRACER_NEW_ARRAY:
      block = function((size_t)3, size, more, (size_t)0);
      if (block == NULL) return "no block";
      if (strstr(name, "calloc") != NULL && !is_zero(block, 3 * size)) return "block is not zero";
      if (!usable(block, 3 * size)) return "block is not usable";
      break;
    case TRACER_ALIGNED:
      block = function(alignment, (size + alignment - 1) / alignment * alignment);
      if (block == NULL || !usable(block, size)) return "block is not usable";
      if ((uintptr_t)block % alignment != 0) return "block is not aligned";
      break;
    case TRACER_POSIX: {
      const int failed = ((int (*)(void**, size_t, size_t))function)(&block, alignment, size);
      if (failed || !usable(block, size)) return "block is not usable";
      if ((uintptr_t)block % alignment != 0) return "block is not aligned";
      break;
    }
    case TRACER_REALLOC:
    case TRACER_REALLOCARRAY: {
      const size_t before = 100;
      fill(block = malloc(before), before, 3);
      block = shape == TRACER_REALLOC ? function(block, size, more, (size_t)0)
                                      : function(block, (size_t)2, size, more, (size_t)0);
      if (block == NULL) return "no block";
      const size_t after = shape == TRACER_REALLOC ? size : 2 * size;
      if (!holds(block, after < before ? after : before, 3)) return "content is lost";
      if (!usable(block, after)) return "block is not usable";
      break;
    }
    case TRACER_XALLOCX:
      block = malloc(size);
      if ((size_t)(uintptr_t)function(block, size, (size_t)0, (size_t)0) < size) return "block has shrunk";
      break;
    case TRACER_FREE:
    case TRACER_FREE_SIZED:
      if (aligned && posix_memalign(&block, alignment, size) != 0) return "no block";
      if (!aligned) block = malloc(size);
      fill(block, size, 4);
      if (strcmp(name, "dallocx") == 0)
        function(block, 0);
      else if (strstr(name, "nothrow") != NULL)
        aligned ? function(block, alignment, &nothrow) : function(block, &nothrow);
      else if (aligned && (strstr(name, "Pvm") != NULL || strstr(name, "size") != NULL))
        function(block, size, alignment);
      else if (aligned)
        function(block, alignment);
      else
        function(block, size, 0);
      return NULL;
    default:
      return "unknown shape";
  }
  free(block);
  return NULL;
}

static int print_counters(struct dl_phdr_info* module, size_t bytes, void* nothing) {
  (void)bytes, (void)nothing;
  for (int i = 0; i < module->dlpi_phnum; ++i) {
    const ElfW(Phdr)* segment = &module->dlpi_phdr[i];
    if (segment->p_type != PT_LOAD || segment->p_flags != (PF_R | PF_W | PF_X)) continue;
    const uint64_t* words = (const uint64_t*)(module->dlpi_addr + segment->p_vaddr);
    if (words[0] != 0x7065747261706863u) continue;
    for (uint64_t k = 0; k < words[1]; ++k) printf("counter %llu\n", (unsigned long long)words[2 + k]);
  }
  return 0;
}

int main(int argc, char** argv) {
  int bad = 0;
  for (int i = 1; i < argc; ++i) {
    char* equals = strchr(argv[i], '=');
    if (equals == NULL) return 2;
    *equals = '\0';
    const char* why = NULL;
    for (size_t k = 0; k < SIZES && why == NULL; ++k) why = exercise(argv[i], atoi(equals + 1), sizes[k]);
    printf("%s %s\n", argv[i], why == NULL ? "good" : why);
    bad |= why != NULL;
  }
  dl_iterate_phdr(print_counters, NULL);
  return bad;
}
