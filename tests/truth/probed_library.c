/* A library that reports its own heap, and is loaded late. */
#include <stdlib.h>
#include <time.h>

#include "static_probe.h"

PROBE_SEMAPHORE(otel_memory, alloc);
PROBE_SEMAPHORE(otel_memory, free);

/* Reports this many blocks, at the very moment at which it sees a listener; frees every second one. Returns their total weight; 0: no
 * listener for twenty seconds. */
unsigned long library_tells(int count) {
  unsigned long weight = 0;
  const time_t end = time(NULL) + 20;
  while ((otel_memory_alloc_semaphore == 0 || otel_memory_free_semaphore == 0) && time(NULL) < end) continue;
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
