/* Samples its own heap and reports it through otel_memory probes, like a program with a built-in sampler; and knows what it
 * reported. Every block that it reports is "sampled", so the sums are the same in each run.
 *
 *   probed_heap rounds ROUNDS THREADS [GO]   each thread: ROUNDS blocks at each of two sites, once the file GO exists; then JSON
 *   probed_heap watch FILE                   reports until FILE exists and nothing watches any more, then JSON
 *   probed_heap fork                         forks a child that reports, too
 *   probed_heap again ROUNDS                 reports as with one thread, and becomes "rounds ROUNDS 1"
 *   probed_heap load LIBRARY                 loads one that reports, too, and lets it
 *   probed_heap lie COUNT                    reports that many blocks that do not exist, of any size and weight, and frees others
 *   probed_heap values COUNT                 reports 200, -5, 60000, 70000, 3 * round and the round, at most 16 rounds
 *   probed_heap cost COUNT                   nanoseconds of CPU per allocation, out of COUNT, each reported with its free
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "static_probe.h"

PROBE_SEMAPHORE(otel_memory, alloc);
PROBE_SEMAPHORE(otel_memory, free);
PROBE_SEMAPHORE(truth, values);

enum { kInterval = 1 << 19, kKeptSize = 1000, kChurnSize = 3000 };

static atomic_ulong told_allocs, told_frees, kept_weight, live_weight, churn_weight;

static void tell_free(void* block) {
#ifdef NO_FREES
  (void)block;
#else
  if (otel_memory_free_semaphore == 0) return;
  PROBE1(otel_memory, free, block);
  atomic_fetch_add(&told_frees, 1);
#endif
}

/* Weight and size are compile-time constants. */
__attribute__((noinline)) void* site_keeps(void) {
  void* block = malloc(kKeptSize);
  if (otel_memory_alloc_semaphore != 0) {
    PROBE3(otel_memory, alloc, block, kKeptSize, kInterval);
    atomic_fetch_add(&told_allocs, 1);
    atomic_fetch_add(&kept_weight, kInterval);
    atomic_fetch_add(&live_weight, kInterval);
  }
  __asm__ __volatile__("" ::: "memory"); /* no tail call */
  return block;
}

/* Here they are arguments, and one of them is in memory. */
__attribute__((noinline)) void site_churns(unsigned long size, unsigned long crossings) {
  volatile unsigned long weight = crossings * kInterval;
  void* block = malloc(size);
  if (otel_memory_alloc_semaphore != 0) {
    PROBE3(otel_memory, alloc, block, size, weight);
    atomic_fetch_add(&told_allocs, 1);
    atomic_fetch_add(&churn_weight, weight);
  }
  tell_free(block);
  free(block);
  __asm__ __volatile__("" ::: "memory");
}

__attribute__((noinline)) void caller_of_keeps(void** block) {
  *block = site_keeps();
  __asm__ __volatile__("" ::: "memory");
}
__attribute__((noinline)) void caller_of_churns(int round) {
  site_churns(kChurnSize, 1 + (unsigned long)(round % 3));
  __asm__ __volatile__("" ::: "memory");
}

/* Values of each width, from any place where the compiler keeps them. */
unsigned table[16];
static unsigned counter;
__attribute__((noinline)) void site_of_values(unsigned char narrow, signed char negative, unsigned short wide,
                                              int word, unsigned long at) {
  STATIC_PROBE(truth, values, "1@%0 -1@%1 2@%2 -4@%3 4@%4 4@%5", "nor"(narrow), "nor"(negative), "nor"(wide),
               "nor"(word), "nor"(table[at]), "nor"(counter));
  ++counter;
}

static int rounds;

/* Frees every second kept block at the end. */
static void* work(void* unused) {
  (void)unused;
  void** kept = calloc((size_t)rounds, sizeof(void*));
  for (int i = 0; i < rounds; ++i) {
    caller_of_keeps(&kept[i]);
    caller_of_churns(i);
  }
  for (int i = 0; i < rounds; i += 2) {
    if (otel_memory_free_semaphore != 0) atomic_fetch_sub(&live_weight, kInterval);
    tell_free(kept[i]);
    free(kept[i]);
  }
  return kept;
}

static void wait_for(const char* file) {
  while (access(file, F_OK) != 0) usleep(2000);
}

static void print_truth(void) {
  printf(
      "{\"allocs\": %lu, \"frees\": %lu, \"kept_weight\": %lu, \"live_weight\": %lu, \"churn_weight\": %lu, "
      "\"semaphores\": %d}\n",
      told_allocs, told_frees, kept_weight, live_weight, churn_weight,
      otel_memory_alloc_semaphore + otel_memory_free_semaphore);
}

static void run_threads(int threads) {
  pthread_t all[64];
  for (int i = 0; i < threads; ++i) pthread_create(&all[i], NULL, work, NULL);
  for (int i = 0; i < threads; ++i) pthread_join(all[i], NULL);
}

static double now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time); /* others on the machine may use the rest */
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

int main(int count, char** words) {
  if (count < 2) return 2;
  if (strcmp(words[1], "rounds") == 0 && count >= 4) {
    const int threads = atoi(words[3]);
    rounds = atoi(words[2]);
    if (threads < 1 || threads > 64 || rounds < 1) return 2;
    if (count > 4) wait_for(words[4]);
    run_threads(threads);
    print_truth();
    return 0;
  }
  if (strcmp(words[1], "watch") == 0 && count == 3) {
    rounds = 4;
    while (access(words[2], F_OK) != 0 || otel_memory_alloc_semaphore != 0 ||
           otel_memory_free_semaphore != 0) {
      run_threads(2);
      usleep(5000);
    }
    print_truth();
    return 0;
  }
  if (strcmp(words[1], "fork") == 0) {
    rounds = 10;
    const pid_t child = fork();
    run_threads(1);
    if (child == 0) _exit(0);
    int status = 0;
    waitpid(child, &status, 0);
    print_truth();
    return status != 0;
  }
  if (strcmp(words[1], "again") == 0 && count == 3) {
    rounds = atoi(words[2]);
    run_threads(1);
    execl(words[0], words[0], "rounds", words[2], "1", (char*)NULL);
    return 3;
  }
  if (strcmp(words[1], "load") == 0 && count == 3) {
    usleep(300000); /* it has a listener before this */
    void* library = dlopen(words[2], RTLD_NOW);
    unsigned long (*tells)(int) = NULL;
    if (library != NULL) *(void**)&tells = dlsym(library, "library_tells");
    if (tells == NULL) return 3;
    rounds = 10;
    run_threads(1);
    const unsigned long weight = tells(100);
    printf("{\"library_weight\": %lu, \"kept_weight\": %lu}\n", weight, kept_weight);
    return 0;
  }
  if (strcmp(words[1], "lie") == 0 && count == 3) {
    unsigned long random = 88172645463325252ul;
    for (int i = 0; i < atoi(words[2]); ++i) {
      unsigned long said[4];
      for (int word = 0; word < 4; ++word) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        said[word] = random >> (random & 63);
      }
      PROBE3(otel_memory, alloc, said[0], said[1], i % 3 == 0 ? 0 : said[2]);
#ifndef NO_FREES
      PROBE1(otel_memory, free, said[3]);
#endif
    }
    return 0;
  }
  if (strcmp(words[1], "values") == 0 && count == 3) {
    for (unsigned i = 0; i < (unsigned)atoi(words[2]) && i < 16; ++i) table[i] = 3 * i;
    for (unsigned i = 0; i < (unsigned)atoi(words[2]) && i < 16; ++i)
      site_of_values(200, -5, 60000, 70000, i);
    return 0;
  }
  if (strcmp(words[1], "cost") == 0 && count == 3) {
    const int pairs = atoi(words[2]);
    const double start = now_ns();
    for (int i = 0; i < pairs; ++i) caller_of_churns(i);
    printf("%.1f\n", (now_ns() - start) / pairs);
    return 0;
  }
  return 2;
}
