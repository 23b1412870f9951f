/* Three threads in functions that call each other and the C library. The build links it statically and removes its
 * symbols and its call frame information, so that only the code shows how to walk its stacks. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static volatile unsigned long result;
static double seconds;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static __attribute__((noinline)) unsigned long leaf(unsigned long n) {
  unsigned long sum = n;
  for (unsigned long i = 0; i < 2000; i++) sum = sum * 31 + (sum >> 7) + i;
  return sum;
}

static __attribute__((noinline)) unsigned long nested(unsigned long n, int depth) {
  char text[64];
  snprintf(text, sizeof text, "%lu", n);
  unsigned long sum = leaf(n) + strlen(text);
  if (depth > 0) sum += nested(sum, depth - 1);
  return sum + 1;
}

static int compare(const void* a, const void* b) {
  return *(const int*)a - *(const int*)b;
}

static __attribute__((noinline)) unsigned long sorted(unsigned seed) {
  int values[512];
  for (int i = 0; i < 512; i++) values[i] = (int)((seed = seed * 1103515245u + 12345u) >> 4);
  qsort(values, 512, sizeof *values, compare);
  return (unsigned long)values[100];
}

static void* work(void* argument) {
  unsigned long sum = (unsigned long)argument;
  const double end = now() + seconds;
  while (now() < end) {
    sum += nested(sum, 5);
    sum += sorted((unsigned)sum);
  }
  result += sum;
  return NULL;
}

int main(int count, char** arguments) {
  pthread_t threads[2];
  seconds = count > 1 ? atof(arguments[1]) : 2;
  for (unsigned long i = 0; i < 2; i++) pthread_create(&threads[i], NULL, work, (void*)i);
  work((void*)9);
  for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  return 0;
}
