// Events of known numbers: pages that are touched for the first time, and system calls. Usage: known_events ROUNDS [MS]. Prints its
// answer as JSON, and then stays for MS milliseconds.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#define KNOWN extern "C" __attribute__((noipa))

KNOWN void touches_pages(char* memory, long pages) {
  for (long i = 0; i < pages; ++i) memory[i * 4096] = 1;
}
KNOWN void asks_for_its_parent(long times) {
  for (long i = 0; i < times; ++i) syscall(SYS_getppid);
}
// Returns how many bytes were written.
KNOWN long writes_pieces(int fd, long times) {
  static char piece[4096];
  long bytes = 0;
  for (long i = 0; i < times; ++i) bytes += write(fd, piece, static_cast<std::size_t>(1 + i % 4096));
  return bytes;
}
// Each of them fails.
KNOWN long closes_nothing(long times) {
  long failed = 0;
  for (long i = 0; i < times; ++i)
    if (close(-1) != 0 && errno == EBADF) ++failed;
  return failed;
}

int main(int argc, char** argv) {
  const long rounds = argc > 1 ? std::atol(argv[1]) : 1000;
  const int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
  const auto size = static_cast<std::size_t>(rounds) * 4096;
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (fd < 0 || memory == MAP_FAILED) return 1;
  madvise(memory, size, MADV_NOHUGEPAGE);
  touches_pages(static_cast<char*>(memory), rounds);
  asks_for_its_parent(rounds);
  const long bytes = writes_pieces(fd, rounds);
  const long failed = closes_nothing(rounds);
  std::printf("{\"rounds\": %ld, \"pages\": %ld, \"bytes\": %ld, \"failed\": %ld}\n", rounds, rounds, bytes,
              failed);
  std::fflush(stdout);
  if (argc > 2) usleep(static_cast<useconds_t>(std::atol(argv[2]) * 1000));
  return 0;
}
