// Prints what its jemalloc says of itself, as text or JSON (argument: options of malloc_stats_print), then a line with
// what the same jemalloc answers when it is asked for each number. Runs under the system's jemalloc.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef int (*mallctl_fn)(const char*, void*, size_t*, void*, size_t);
typedef void (*print_fn)(void (*)(void*, const char*), void*, const char*);

static char words[1 << 20];
static size_t used;

static void keep(void* unused, const char* text) {
  (void)unused;
  const size_t length = strlen(text);
  if (used + length > sizeof words) abort();
  memcpy(words + used, text, length);
  used += length;
}

int main(int argc, char** argv) {
  const mallctl_fn ask = (mallctl_fn)dlsym(RTLD_DEFAULT, "mallctl");
  const print_fn print = (print_fn)dlsym(RTLD_DEFAULT, "malloc_stats_print");
  if (ask == NULL || print == NULL || argc != 2) return 2;
  // 1,000 blocks of 512 bytes of which every other one goes, and three large ones.
  static void* blocks[1000];
  for (int i = 0; i < 1000; ++i) blocks[i] = malloc(500);
  for (int i = 0; i < 1000; i += 2) free(blocks[i]);
  static void* large[3];
  for (int i = 0; i < 3; ++i) large[i] = malloc(1 << 20);
  free(large[2]);
  print(keep, NULL, argv[1]);
  const char* const names[] = {"stats.allocated", "stats.active",   "stats.metadata",
                               "stats.resident",  "stats.retained", "stats.arenas.0.pdirty"};
  char line[512];
  size_t length = (size_t)snprintf(line, sizeof line, "\nasked:");
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    size_t value = 0, size = sizeof value;
    if (ask(names[i], &value, &size, NULL, 0) != 0) return 3;
    length += (size_t)snprintf(line + length, sizeof line - length, " %zu", value);
  }
  line[length++] = '\n';
  return write(STDOUT_FILENO, words, used) == (ssize_t)used &&
                 write(STDOUT_FILENO, line, length) == (ssize_t)length
             ? 0
             : 4;
}
