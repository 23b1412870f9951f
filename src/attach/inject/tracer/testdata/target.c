/* A program for the injector's tests: target MODE [THREADS]. It runs until it is asked to stop or is killed.
 *   storm    threads that allocate and free without a pause, by direct calls and through slots
 *   stale    threads that allocate until hooks are in, and once more; then they stay busy in a frame that keeps
 *            what those calls left on the stack
 *   waits    threads in every kind of wait, with and without a timeout
 *   churn    threads that start and end all the time, during a storm
 *   signals  a timer and queued signals, whose values are checked
 *   forks    children that allocate and exit
 *   fork     on order, one child that allocates until the end
 *   parents  children that exit at once, while threads are in epoll_wait
 *   linger   a thread that stays inside a hooked function
 *   sleepers threads that wait forever
 *   swaps    a thread that replaces every new descriptor by the file named last
 *   idle     one thread in nanosleep */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/sem.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "board.h"

static struct board* board;

static void add(uint64_t* word, uint64_t value) {
  __atomic_fetch_add(word, value, __ATOMIC_RELAXED);
}
static int stopping(void) {
  return __atomic_load_n(&board->stop, __ATOMIC_RELAXED) != 0;
}
static uint64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The hooked functions. They return their last argument, to check that hooks keep arguments. */
__attribute__((noinline)) void* target_take(size_t size, uint64_t mark) {
  uint64_t* block = malloc(size < 16 ? 16 : size);
  if (block != NULL) block[0] = mark;
  add(&board->taken, 1);
  return block;
}
__attribute__((noinline)) void target_give(void* block) {
  if (block != NULL && ((uint64_t*)block)[0] == ~(uint64_t)0) add(&board->broken, 1);
  free(block);
  add(&board->given, 1);
}
void* (*volatile slot_taken)(size_t, uint64_t) = target_take;
void (*volatile slot_given)(void*) = target_give;

static void* storm(void* argument) {
  uint64_t mark = (uint64_t)argument;
  while (!stopping()) {
    uint64_t* a = target_take(16 + (mark & 255), mark);
    uint64_t* b = slot_taken(16 + (mark & 1023), mark + 1);
    if (a == NULL || b == NULL || a[0] != mark || b[0] != mark + 1) add(&board->broken, 1);
    slot_given(a);
    target_give(b);
    mark += 7;
  }
  return NULL;
}

/* In a frame of its own: deeper than the registers that stay_busy() saves first. */
__attribute__((noinline)) static void take_and_give(uint64_t mark) {
  volatile char room[512];
  room[0] = (char)mark;
  uint64_t* a = target_take(16 + (mark & 255), mark);
  if (a == NULL || a[0] != mark) add(&board->broken, 1);
  target_give(a);
  room[1] = room[0];
}

/* In an uninitialized frame: return addresses of earlier calls stay in it. */
__attribute__((noinline)) static void stay_busy(void) {
  volatile char room[4096];
  room[0] = 1;
  add(&board->lingering, 1);
  while (!stopping()) add(&board->rounds[0], (uint64_t)room[0]);
}

static void* stale(void* argument) {
  while (!__atomic_load_n(&board->hooked, __ATOMIC_SEQ_CST) && !stopping()) take_and_give(1);
  take_and_give((uint64_t)argument);
  stay_busy();
  return NULL;
}

enum wait_kind {
  kEpollForever,
  kEpollTimed,
  kPollForever,
  kPollTimed,
  kNanosleep,
  kFutexForever,
  kFutexTimed,
  kRead,
  kSemTimed,
  kSigwaitTimed,
  kClockNanosleep,
  kSpin,
  kEpollPwait,
  kWaitKinds
};

static int pipe_ends[2];
static sem_t never;

static int wait_once(enum wait_kind kind, int epoll, int semaphores) {
  struct timespec tenth = {0, 20000000};
  struct epoll_event event;
  struct pollfd poll_entry = {pipe_ends[0], POLLIN, 0};
  struct sembuf down = {0, -1, 0};
  struct timespec until;
  sigset_t set;
  char byte;
  switch (kind) {
    case kEpollForever:
      return epoll_wait(epoll, &event, 1, -1);
    case kEpollTimed:
      return epoll_wait(epoll, &event, 1, 20);
    case kEpollPwait:
      sigemptyset(&set);
      return epoll_pwait(epoll, &event, 1, 20, &set);
    case kPollForever:
      return poll(&poll_entry, 1, -1);
    case kPollTimed:
      return poll(&poll_entry, 1, 20);
    case kNanosleep:
      return nanosleep(&tenth, NULL);
    case kClockNanosleep:
      return (errno = clock_nanosleep(CLOCK_MONOTONIC, 0, &tenth, NULL)) ? -1 : 0;
    case kFutexForever:
      return sem_wait(&never);
    case kFutexTimed:
      clock_gettime(CLOCK_REALTIME, &until);
      until.tv_nsec += 20000000;
      if (until.tv_nsec >= 1000000000) until.tv_nsec -= 1000000000, until.tv_sec++;
      return sem_timedwait(&never, &until) == -1 && errno == ETIMEDOUT ? 0 : -1;
    case kRead:
      return (int)read(pipe_ends[0], &byte, 1);
    case kSemTimed:
      return semtimedop(semaphores, &down, 1, &tenth) == -1 && errno == EAGAIN ? 0 : -1;
    case kSigwaitTimed:
      sigemptyset(&set);
      sigaddset(&set, SIGUSR2);
      return sigtimedwait(&set, NULL, &tenth) == -1 && errno == EAGAIN ? 0 : -1;
    default:
      for (volatile int i = 0; i < 1000000; ++i) {
      }
      return 0;
  }
}

static void* waits(void* argument) {
  enum wait_kind kind = (enum wait_kind)(uint64_t)argument;
  int epoll = epoll_create1(0);
  int semaphores = semget(IPC_PRIVATE, 1, 0600);
  while (!stopping()) {
    uint64_t before = now_ns();
    errno = 0;
    if (wait_once(kind, epoll, semaphores) < 0) {
      if (errno == EINTR)
        add(&board->interrupted, 1);
      else
        add(&board->broken, 1);
    }
    uint64_t took = now_ns() - before;
    if (took > board->longest[kind]) board->longest[kind] = took;
    add(&board->rounds[kind], 1);
  }
  if (semaphores >= 0) semctl(semaphores, 0, IPC_RMID);
  return NULL;
}

static void* one_life(void* argument) {
  uint64_t mark = (uint64_t)argument;
  uint64_t* block = target_take(64, mark);
  if (block == NULL || block[0] != mark) add(&board->broken, 1);
  slot_given(block);
  return NULL;
}

static void churn(void) {
  for (uint64_t i = 0; !stopping(); ++i) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, one_life, (void*)i) != 0) continue;
    pthread_join(thread, NULL);
    add(&board->threads_born, 1);
  }
}

static int expected_value;
static void on_signal(int number, siginfo_t* info, void* context) {
  (void)number, (void)context;
  if (info->si_code == SI_QUEUE && info->si_value.sival_int != expected_value) add(&board->signals_wrong, 1);
  add(&board->signals, 1);
}
static void on_timer(int number) {
  (void)number;
  add(&board->rounds[0], 1);
}

static void signals(void) {
  struct sigaction action = {0};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigaction(SIGRTMIN + 1, &action, NULL);
  struct sigaction timer = {0};
  timer.sa_handler = on_timer;
  timer.sa_flags = SA_RESTART;
  sigaction(SIGALRM, &timer, NULL);
  struct itimerval each = {{0, 3000}, {0, 3000}};
  setitimer(ITIMER_REAL, &each, NULL);
  for (int i = 0; !stopping(); ++i) {
    union sigval value;
    value.sival_int = i;
    expected_value = i;
    sigqueue(getpid(), SIGRTMIN + 1, value);
    add(&board->rounds[1], 1);
    free(slot_taken(32, 1));
  }
}

/* Called through a slot, and returns only on request. */
__attribute__((noinline)) uint64_t target_linger(uint64_t mark) {
  add(&board->lingering, 1);
  while (!__atomic_load_n(&board->go_on, __ATOMIC_SEQ_CST) && !stopping()) usleep(1000);
  return mark + 1;
}
uint64_t (*volatile slot_linger)(uint64_t) = target_linger;

/* A program that keeps a function's address, taken while a hook replaces it. */
static uint64_t (*volatile* kept)(uint64_t);

static void* linger(void* argument) {
  (void)argument;
  while (!__atomic_load_n(&board->hooked, __ATOMIC_SEQ_CST)) usleep(1000);
  kept = malloc(sizeof *kept);
  if (board->keep) *kept = slot_linger;
  if (slot_linger(41) != 42) add(&board->broken, 1);
  add(&board->lingered, 1);
  while (!__atomic_load_n(&board->forget, __ATOMIC_SEQ_CST) && !stopping()) usleep(1000);
  if (board->keep && (*kept)(1) != 2) add(&board->broken, 1);
  *kept = NULL;
  add(&board->forgotten, 1);
  return NULL;
}

static void forks(void) {
  while (!stopping()) {
    pid_t child = fork();
    if (child == 0) {
      for (uint64_t i = 0; i < 50; ++i) {
        uint64_t* block = target_take(32, i);
        if (block == NULL || block[0] != i) _exit(1);
        slot_given(block);
      }
      _exit(0);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) add(&board->children_failed, 1);
    add(&board->children, 1);
  }
}

static void fork_once(void) {
  while (!__atomic_load_n(&board->hooked, __ATOMIC_SEQ_CST) && !stopping()) usleep(1000);
  const pid_t child = fork();
  if (child == 0) {
    storm(NULL);
    _exit(0);
  }
  add(&board->child, (uint64_t)child);
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child || status != 0) add(&board->children_failed, 1);
}

/* The lowest free descriptors, which the next new ones get. */
static void* swaps(void* path) {
  int file = open(path, O_RDONLY);
  if (file < 0) abort();
  if (dup2(file, 900) < 0) abort();
  close(file);
  while (!stopping())
    for (int fd = file; fd < file + 10; ++fd)
      if (fcntl(fd, F_GETFD) >= 0) dup2(900, fd);
  return NULL;
}

/* Not fork: in glibc 2.41 it blocks all signals, and the kernel keeps a blocked SIGCHLD and wakes another thread for
 * it, so a child that ends before fork returns interrupts the program's waits even without a profiler. */
static void* parents(void* argument) {
  (void)argument;
  while (!stopping()) {
    pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (child == 0) _exit(0);
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) add(&board->children_failed, 1);
    add(&board->children, 1);
  }
  return NULL;
}

static void start(void* (*run)(void*), uint64_t argument) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, run, (void*)argument) != 0) abort();
}

int main(int count, char** arguments) {
  if (count < 2) return 2;
  const char* mode = arguments[1];
  const uint64_t threads = count > 2 ? (uint64_t)atoi(arguments[2]) : 1;
  board = mmap(NULL, sizeof(struct board), PROT_READ | PROT_WRITE, MAP_SHARED, BOARD_FD, 0);
  if (board == MAP_FAILED) return 3;
  board->slot_taken = (uint64_t)&slot_taken;
  board->slot_given = (uint64_t)&slot_given;
  board->slot_linger = (uint64_t)&slot_linger;
  if (pipe(pipe_ends) != 0 || sem_init(&never, 0, 0) != 0) return 4;

  if (strcmp(mode, "storm") == 0 || strcmp(mode, "churn") == 0 || strcmp(mode, "forks") == 0)
    for (uint64_t i = 0; i < threads; ++i) start(storm, i << 32);
  if (strcmp(mode, "stale") == 0)
    for (uint64_t i = 0; i < threads; ++i) start(stale, i << 32);
  if (strcmp(mode, "waits") == 0)
    for (uint64_t i = 0; i < kWaitKinds; ++i) start(waits, i);
  if (strcmp(mode, "sleepers") == 0)
    for (uint64_t i = 0; i < threads; ++i)
      start(waits, i % 8 == 0 ? kFutexTimed : i % 2 ? kEpollForever : kFutexForever);
  if (strcmp(mode, "parents") == 0) {
    for (uint64_t i = 0; i < 6; ++i) start(waits, kEpollTimed);
    start(parents, 0);
  }
  if (strcmp(mode, "fork") == 0) start(waits, kEpollTimed);
  if (strcmp(mode, "linger") == 0) start(linger, 0);
  if (strcmp(mode, "swaps") == 0 && count > 3) start(swaps, (uint64_t)arguments[3]);
  usleep(20000); /* gives the waiting threads time to wait */
  __atomic_store_n(&board->ready, 1, __ATOMIC_SEQ_CST);
  if (strcmp(mode, "churn") == 0) churn();
  if (strcmp(mode, "signals") == 0) signals();
  if (strcmp(mode, "forks") == 0) forks();
  if (strcmp(mode, "fork") == 0) fork_once();
  if (strcmp(mode, "parents") == 0) parents(NULL);
  while (!stopping()) usleep(1000);
  return board->broken == 0 ? 0 : 5;
}
