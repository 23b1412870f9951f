// Holds memory in known ways, and prints its own allocator's statistics: glibc with mallinfo2, jemalloc
// (loaded with LD_PRELOAD) with mallctl. One letter on standard input is one command, and each gets one line
// as its answer. Printing allocates nothing, so nothing changes between a reading from outside and the
// answer.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kBlocks = 40000, kThreads = 4 };
typedef int mallctl_fn(const char*, void*, size_t*, void*, size_t);
static mallctl_fn* mallctl_;

struct blocks {
  void* all[kBlocks];
  uint32_t state;
};
static struct blocks main_blocks = {.state = 1}, thread_blocks[kThreads];
static volatile int storm;
static pthread_t threads[kThreads];
static pthread_barrier_t filled;

static uint32_t next_random(struct blocks* b) {
  return b->state = b->state * 1664525u + 1013904223u;
}

static size_t some_size(struct blocks* b) {
  const uint32_t r = next_random(b) >> 8;
  if (r % 1000 == 0) return 150000 + r % 3000000;  // a mapping of its own, in glibc
  if (r % 50 == 0) return 5000 + r % 60000;
  return 1 + r % 900;
}

static void fill(struct blocks* b, int count) {
  for (int i = 0; i < count; ++i)
    if (b->all[i] == NULL) {
      const size_t size = some_size(b);
      b->all[i] = malloc(size);
      memset(b->all[i], 1, size);
    }
}

// Frees every block except each `keep`th; 0: all.
static void release(struct blocks* b, int keep) {
  for (int i = 0; i < kBlocks; ++i)
    if (keep == 0 || i % keep != 0) {
      free(b->all[i]);
      b->all[i] = NULL;
    }
}

static void* parked_thread(void* own) {
  struct blocks* b = own;
  fill(b, kBlocks / 4);
  release(b, 3);
  pthread_barrier_wait(&filled);
  for (;;) pause();
  return NULL;
}

static void* storm_thread(void* own) {
  struct blocks* b = own;
  while (storm) {
    const uint32_t i = (next_random(b) >> 8) % (kBlocks / 8);
    free(b->all[i]);
    const size_t size = some_size(b);
    b->all[i] = malloc(size);
    memset(b->all[i], 1, size < 64 ? size : 64);
  }
  release(b, 0);
  return NULL;
}

static void start_threads(void* (*run)(void*)) {
  for (int i = 0; i < kThreads; ++i) {
    thread_blocks[i].state = (uint32_t)i + 7;
    pthread_create(&threads[i], NULL, run, &thread_blocks[i]);
  }
}

static size_t asked(const char* name) {
  size_t value = 0, size = sizeof(value);
  return mallctl_(name, &value, &size, NULL, 0) == 0 ? value : 0;
}

// 4096: all arenas together.
static void say_statistics(void) {
  static char line[512];
  int length;
  if (mallctl_ != NULL) {
    uint64_t epoch = 1;
    size_t size = sizeof(epoch);
    mallctl_("epoch", &epoch, &size, &epoch, size);
    length =
        snprintf(line, sizeof(line), "%zu %zu %zu %zu %zu %zu\n", asked("stats.allocated"),
                 asked("stats.active"), asked("stats.arenas.4096.pdirty") * 4096,
                 asked("stats.arenas.4096.pmuzzy") * 4096, asked("stats.retained"), asked("stats.metadata"));
  } else {
    const struct mallinfo2 info = mallinfo2();
    length = snprintf(line, sizeof(line), "%zu %zu %zu %zu %zu %zu\n", info.arena, info.fordblks,
                      info.uordblks, info.hblks, info.hblkhd, info.fsmblks);
  }
  if (write(1, line, (size_t)length) != length) _exit(1);
}

static void done(void) {
  if (write(1, "done\n", 5) != 5) _exit(1);
}

int main(void) {
  mallctl_ = (mallctl_fn*)dlsym(RTLD_DEFAULT, "mallctl");
  pthread_barrier_init(&filled, NULL, kThreads + 1);
  char command;
  while (read(0, &command, 1) == 1) {
    switch (command) {
      case 'f':  // fill, then free two of three
        fill(&main_blocks, kBlocks);
        release(&main_blocks, 3);
        done();
        break;
      case 'l':  // one live block after many free ones
        fill(&main_blocks, kBlocks);
        release(&main_blocks, kBlocks - 1);
        done();
        break;
      case 'a':  // free all
        release(&main_blocks, 0);
        done();
        break;
      case 'b': {  // a large block raises the thresholds; then frees 4.5 MB at the end of the heap
        enum { kEnd = 1500 };
        static void* end[kEnd];
        free(malloc(3 << 20));
        for (int i = 0; i < kEnd; ++i) memset(end[i] = malloc(3000), 1, 3000);
        for (int i = kEnd; i-- > 0;) free(end[i]);
        done();
        break;
      }
      case 't':
        start_threads(parked_thread);
        pthread_barrier_wait(&filled);
        done();
        break;
      case 'r':
        storm = 1;
        start_threads(storm_thread);
        done();
        break;
      case 'R':
        storm = 0;
        for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
        done();
        break;
      case 's':
        say_statistics();
        break;
      case 'T':
        malloc_trim(0);
        done();
        break;
      case 'P':
        if (mallctl_ != NULL) mallctl_("arena.4096.purge", NULL, NULL, NULL, 0);
        done();
        break;
      default:
        break;
    }
  }
  return 0;
}
