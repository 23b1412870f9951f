/* A program that reaches its allocator as one in Rust does: only through four small functions that forward a request.
 * Usage:
 *   shim_heap ROUNDS FILE [quiet | absurd]   works until FILE exists; then counts its allocations, to the byte
 * quiet: does nothing until then. absurd: requests impossible sizes until then.
 * Prints its answer as JSON, like known_heap. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void* _rjem_malloc(size_t size);
void* _rjem_calloc(size_t count, size_t size);
void* _rjem_realloc(void* block, size_t size);
void* _rjem_mallocx(size_t size, int flags);
void* _rjem_rallocx(void* block, size_t size, int flags);
void _rjem_sdallocx(void* block, size_t size, int flags);

#define SHIM __attribute__((noipa))
#define SITE __attribute__((noipa))
/* Keeps a call from being the last action of a site. */
#define STAY(block) __asm__ volatile("" : : "r"(block) : "memory")

static int is_plain(size_t size, size_t align) {
  return align <= 16 && align <= size;
}
SHIM static void* shim_alloc(size_t size, size_t align) {
  return is_plain(size, align) ? _rjem_malloc(size) : _rjem_mallocx(size, __builtin_ctzl(align));
}
SHIM static void shim_dealloc(void* block, size_t size, size_t align) {
  _rjem_sdallocx(block, size, is_plain(size, align) ? 0 : __builtin_ctzl(align));
}
SHIM static void* shim_realloc(void* block, size_t size, size_t align, size_t new_size) {
  (void)size;
  return is_plain(new_size, align) ? _rjem_realloc(block, new_size)
                                   : _rjem_rallocx(block, new_size, __builtin_ctzl(align));
}
SHIM static void* shim_alloc_zeroed(size_t size, size_t align) {
  return is_plain(size, align) ? _rjem_calloc(1, size) : _rjem_mallocx(size, __builtin_ctzl(align) | 0x40);
}

struct site {
  const char* name;
  uint64_t calls, bytes, live_calls, live_bytes;
};
enum { PLAIN, ALIGNED, ZEROED, GROWN, LEAKED, SITES };
static struct site sites[SITES] = {{.name = "site_plain"},
                                   {.name = "site_aligned"},
                                   {.name = "site_zeroed"},
                                   {.name = "site_grown"},
                                   {.name = "site_leaked"}};
static int booking;

static void* booked(int site, void* block, size_t size) {
  STAY(block);
  if (booking) {
    ++sites[site].calls, ++sites[site].live_calls;
    sites[site].bytes += size, sites[site].live_bytes += size;
  }
  return block;
}
static void ended(int site, size_t size) {
  if (booking) --sites[site].live_calls, sites[site].live_bytes -= size;
}

/* The same again for the time before, under names that are never looked up. */
#define SITES_OF(prefix)                                                            \
  SITE void* prefix##_plain(size_t size) {                                          \
    return booked(PLAIN, shim_alloc(size, 8), size);                                \
  }                                                                                 \
  SITE void* prefix##_aligned(size_t size) {                                        \
    return booked(ALIGNED, shim_alloc(size, 64), size);                             \
  }                                                                                 \
  SITE void* prefix##_zeroed(size_t size) {                                         \
    return booked(ZEROED, shim_alloc_zeroed(size, size % 2 == 0 ? 8 : 128), size);  \
  }                                                                                 \
  SITE void* prefix##_grown(void* block, size_t old, size_t size, size_t align) {   \
    return booked(GROWN, shim_realloc(block, old, align, size), size);              \
  }                                                                                 \
  SITE void* prefix##_leaked(size_t size) {                                         \
    return booked(LEAKED, shim_alloc(size, 8), size);                               \
  }                                                                                 \
  static void prefix##_work(unsigned rounds) {                                      \
    for (unsigned i = 0; i < rounds; ++i) {                                         \
      const size_t size = next_size();                                              \
      void* plain = prefix##_plain(size);                                           \
      void* aligned = prefix##_aligned(size);                                       \
      void* zeroed = prefix##_zeroed(size);                                         \
      shim_dealloc(aligned, size, 64), ended(ALIGNED, size);                        \
      shim_dealloc(zeroed, size, size % 2 == 0 ? 8 : 128), ended(ZEROED, size);     \
      if (i % 4 == 0) {                                                             \
        plain = prefix##_grown(plain, size, size * 2, 8), ended(PLAIN, size);       \
        shim_dealloc(plain, size * 2, 8), ended(GROWN, size * 2);                   \
      } else if (i % 4 == 1) {                                                      \
        void* wide = prefix##_grown(prefix##_aligned(size), size, size + 4000, 64); \
        ended(ALIGNED, size);                                                       \
        shim_dealloc(wide, size + 4000, 64), ended(GROWN, size + 4000);             \
        shim_dealloc(plain, size, 8), ended(PLAIN, size);                           \
      } else {                                                                      \
        shim_dealloc(plain, size, 8), ended(PLAIN, size);                           \
      }                                                                             \
      if (booking && i % 16 == 0) prefix##_leaked(size);                            \
    }                                                                               \
  }
static size_t next_size(void) {
  static unsigned random = 1;
  random = random * 1664525u + 1013904223u;
  return 16 + (random >> 20);
}
SITES_OF(early)
SITES_OF(site)

static void print(const char* key, size_t offset, const char* end) {
  printf("\"%s\": {", key);
  for (int i = 0; i < SITES; ++i)
    printf("%s\"%s\": %llu", i == 0 ? "" : ", ", sites[i].name,
           (unsigned long long)*(const uint64_t*)((const char*)&sites[i] + offset));
  printf("}%s", end);
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const int quiet = argc > 3 && strcmp(argv[3], "quiet") == 0;
  const int absurd = argc > 3 && strcmp(argv[3], "absurd") == 0;
  early_work(100);
  while (access(argv[2], F_OK) != 0) {
    for (int i = 0; !quiet && i < 25; ++i) {
      early_work(4);
      if (absurd) STAY(shim_alloc(SIZE_MAX / 2, i % 2 == 0 ? 8 : 64));
    }
    usleep(1000);
  }
  booking = 1;
  site_work((unsigned)atoi(argv[1]));
  printf("{");
  print("calls", offsetof(struct site, calls), ", ");
  print("bytes", offsetof(struct site, bytes), ", ");
  print("live_calls", offsetof(struct site, live_calls), ", ");
  print("live_bytes", offsetof(struct site, live_bytes), "}\n");
  return 0;
}
