/* A program of which each answer is known, for the suite that runs on other kernels: what it did stands on its standard output.
 *
 *   known cpu SECONDS          known_hot takes nine times the CPU time of known_cool
 *   known wait COUNT MS        known_wait sleeps COUNT times; prints how long in all
 *   known read SECONDS         known_read reads /dev/zero: the time is the kernel's
 *   known pass COUNT MS        a thread waits in a condition until known_passer signals it, COUNT times
 *   known heap COUNT BYTES S   waits S seconds at most for the file $FATHOM_KNOWN_GO; then known_keep keeps COUNT blocks, and
 *                              known_drop frees as many
 *   known memory MIB SECONDS   holds MIB of touched memory
 *   known calls COUNT          calls known_call so often
 *   known high SECONDS         known_high calls code above 1 << 47, which needs page tables of five levels; else it says so
 *   known burn SECONDS         a thread on each CPU that is online burns it in known_burn */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define KNOWN __attribute__((noinline, used))

static double seconds_of(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void pause_for(double seconds) {
  struct timespec rest = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
  nanosleep(&rest, NULL);
}

static unsigned long mix(unsigned long value, long rounds) {
  for (long i = 0; i < rounds; i++) value = value * 6364136223846793005ul + 1442695040888963407ul;
  return value;
}

/* Not static: each is a function of its own with a name. */
KNOWN unsigned long known_hot(unsigned long value) {
  return mix(value, 90000) + 1;
}
KNOWN unsigned long known_cool(unsigned long value) {
  return mix(value, 10000) + 2;
}
KNOWN void known_wait(double seconds) {
  pause_for(seconds);
}
KNOWN void* known_keep(size_t bytes) {
  return memset(malloc(bytes), 1, bytes);
}
KNOWN void* known_drop(size_t bytes) {
  return memset(malloc(bytes), 2, bytes);
}
KNOWN unsigned long known_call(unsigned long value) {
  return mix(value, 10) + 3;
}

KNOWN void* known_burn(void* seconds) {
  unsigned long value = 1;
  const double end = seconds_of(CLOCK_MONOTONIC) + *(double*)seconds;
  while (seconds_of(CLOCK_MONOTONIC) < end) value = mix(value, 10000);
  return (void*)value;
}

KNOWN void known_read(double seconds) {
  static char buffer[1 << 20];
  const int zeros = open("/dev/zero", O_RDONLY);
  while (seconds_of(CLOCK_PROCESS_CPUTIME_ID) < seconds)
    if (read(zeros, buffer, sizeof(buffer)) <= 0) exit(1);
}

/* push %rbp; mov %rsp,%rbp; mov %rdi,%rax; 1: dec %rax; jnz 1b; pop %rbp; ret */
static const unsigned char counting_down[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xf8,
                                              0x48, 0xff, 0xc8, 0x75, 0xfb, 0x5d, 0xc3};

KNOWN void known_high(double seconds, void (*code)(long)) {
  while (seconds_of(CLOCK_PROCESS_CPUTIME_ID) < seconds) code(100000);
}

static int run_high_code(double seconds) {
  void* place =
      mmap((void*)(1ul << 48), 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (place == MAP_FAILED) return 1;
  memcpy(place, counting_down, sizeof(counting_down));
  void (*code)(long);
  memcpy(&code, &place, sizeof(code));
  known_high(seconds, code);
  printf("%s %p\n", (unsigned long)place >> 47 ? "high" : "low", place);
  return 0;
}

static pthread_mutex_t baton_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t baton_passed = PTHREAD_COND_INITIALIZER;
static int batons;

KNOWN void known_passer(double seconds) {
  pause_for(seconds);
  pthread_mutex_lock(&baton_lock);
  batons++;
  pthread_cond_signal(&baton_passed);
  pthread_mutex_unlock(&baton_lock);
}

KNOWN void* known_receiver(void* count) {
  pthread_mutex_lock(&baton_lock);
  while (batons < *(int*)count) pthread_cond_wait(&baton_passed, &baton_lock);
  pthread_mutex_unlock(&baton_lock);
  return NULL;
}

static void wait_for_file(const char* path, double seconds) {
  const double end = seconds_of(CLOCK_MONOTONIC) + seconds;
  while (path != NULL && access(path, F_OK) != 0 && seconds_of(CLOCK_MONOTONIC) < end) pause_for(0.05);
}

int main(int count, char** words) {
  const char* what = count > 1 ? words[1] : "";
  const double first = count > 2 ? atof(words[2]) : 0, second = count > 3 ? atof(words[3]) : 0,
               third = count > 4 ? atof(words[4]) : 0;
  volatile unsigned long value = 1;
  if (strcmp(what, "cpu") == 0) {
    while (seconds_of(CLOCK_PROCESS_CPUTIME_ID) < first) value = known_cool(known_hot(value));
    printf("cpu_seconds %.3f\n", seconds_of(CLOCK_PROCESS_CPUTIME_ID));
  } else if (strcmp(what, "wait") == 0) {
    double waited = 0;
    for (int i = 0; i < (int)first; i++) {
      const double began = seconds_of(CLOCK_MONOTONIC);
      known_wait(second / 1e3);
      waited += seconds_of(CLOCK_MONOTONIC) - began;
    }
    printf("waited_seconds %.4f\n", waited);
  } else if (strcmp(what, "read") == 0) {
    known_read(first);
  } else if (strcmp(what, "high") == 0) {
    return run_high_code(first);
  } else if (strcmp(what, "pass") == 0) {
    int wanted = (int)first;
    pthread_t receiver;
    pthread_create(&receiver, NULL, known_receiver, &wanted);
    for (int i = 0; i < wanted; i++) known_passer(second / 1e3);
    pthread_join(receiver, NULL);
  } else if (strcmp(what, "heap") == 0) {
    void** kept = calloc((size_t)first, sizeof(void*));
    wait_for_file(getenv("FATHOM_KNOWN_GO"), third);
    for (int i = 0; i < (int)first; i++) {
      kept[i] = known_keep((size_t)second);
      free(known_drop((size_t)second));
    }
    printf("kept_bytes %.0f at %p\n", first * second, (void*)kept);
  } else if (strcmp(what, "memory") == 0) {
    void* held = known_keep((size_t)first << 20);
    pause_for(second);
    printf("held_mib %.0f at %p\n", first, held);
  } else if (strcmp(what, "calls") == 0) {
    for (int i = 0; i < (int)first; i++) value = known_call(value);
    printf("calls %.0f\n", first);
  } else if (strcmp(what, "burn") == 0) {
    const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    for (long i = 0; i < cpus; i++) {
      pthread_t thread;
      double* seconds = malloc(sizeof(double));
      *seconds = first;
      pthread_create(&thread, NULL, known_burn, seconds);
    }
    pause_for(first + 0.2);
    printf("cpus %ld\n", cpus);
  } else {
    fprintf(stderr, "known: what is '%s'?\n", what);
    return 2;
  }
  return 0;
}
