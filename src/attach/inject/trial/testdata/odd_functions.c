/* Functions that do not return, and some that do things that a private copy must not. */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define KEPT __attribute__((noinline, used))

volatile int ran;
__attribute__((constructor)) static void of_the_program(void) {
  ran = 1;
}

KEPT int adds(int a, int b) {
  return a + b;
}
KEPT int loops(void) {
  for (;;) __asm__ volatile("");
}
KEPT int waits(void) {
  static int word;
  return (int)syscall(SYS_futex, &word, FUTEX_WAIT, 0, NULL, NULL, 0);
}
KEPT int crashes(volatile int* at) {
  return *at;
}
KEPT int forks(void) {
  return fork() == 0 ? pause() : 7;
}
/* The answers that they get. */
KEPT int writes(const char* path) {
  return open(path, O_WRONLY | O_CREAT, 0600) < 0 ? errno : 0;
}
KEPT int connects(void) {
  return socket(AF_INET, SOCK_STREAM, 0) < 0 ? errno : 0;
}
KEPT int signals(int pid) {
  return kill(pid, SIGKILL) != 0 ? errno : 0;
}
KEPT int environment(void) {
  return getenv("PATH") != NULL;
}

int main(void) {
  ran = 2;
  return 0;
}
