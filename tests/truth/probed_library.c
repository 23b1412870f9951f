/* A library that reports its own heap, and is loaded late. */
#include <stdlib.h>
#include <unistd.h>

#include "static_probe.h"

PROBE_SEMAPHORE(otel_memory, alloc);
PROBE_SEMAPHORE(otel_memory, free);

/* Reports this many blocks, once there is a listener; frees every second one. Returns their total weight; 0: no listener for ten seconds. */
unsigned long library_tells(int count) {
  unsigned long weight = 0;
  for (int i = 0; i < 5000 && (otel_memory_alloc_semaphore == 0 || otel_memory_free_semaphore == 0); ++i)
    usleep(2000);
  for (int i = 0; i < count && otel_memory_alloc_semaphore != 0; ++i) {
    void* block = malloc(500);
    PROBE3(otel_memory, alloc, block, 500, 1 << 20);
    weight += 1 << 20;
    if (i % 2 != 0) continue;
    PROBE1(otel_memory, free, block);
    free(block);
  }
  return weight;
}
