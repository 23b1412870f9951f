// Counts the signals that reach it, and prints the count when it exits: like a server that saves its data at
// the first SIGINT and gives up at the second.
//
//   signal_counter linger MS [STATUS]   from the first signal counts for MS ms more, frees its memory, exits
//   signal_counter deaf MS              ignores SIGTERM, and exits after MS ms
//   signal_counter echo                 reads lines from standard input and prints them, until end of file
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

volatile sig_atomic_t g_counts[65];
volatile sig_atomic_t g_any;

void count(int signal) {
  g_counts[signal] = g_counts[signal] + 1;
  g_any = 1;
}

double now_ms() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

void spend(double ms) {
  for (const double end = now_ms() + ms; now_ms() < end;) {
  }
}

}  // namespace

int main(int argc, char** argv) {
  const char* mode = argc > 1 ? argv[1] : "";
  const double ms = argc > 2 ? std::atof(argv[2]) : 0;
  const int status = argc > 3 ? std::atoi(argv[3]) : 3;
  constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1};
  struct sigaction action {};
  action.sa_handler = count;
  if (std::strcmp(mode, "echo") != 0)
    for (const int signal : kSignals) sigaction(signal, &action, nullptr);
  if (std::strcmp(mode, "deaf") == 0) signal(SIGTERM, SIG_IGN);

  constexpr int kBlocks = 64;
  static char* held[kBlocks];
  for (char*& block : held) block = static_cast<char*>(std::malloc(1000));
  std::printf("ready %d\n", getpid());
  std::fflush(stdout);

  if (std::strcmp(mode, "linger") == 0) {
    while (g_any == 0) spend(1), usleep(1000);
    for (const double end = now_ms() + ms; now_ms() < end;) spend(1), usleep(1000);
  } else if (std::strcmp(mode, "deaf") == 0) {
    for (const double end = now_ms() + ms; now_ms() < end;) usleep(10'000);
  } else {
    char line[256];
    while (std::fgets(line, sizeof(line), stdin) != nullptr) {
      std::printf("heard %s", line);
      std::fflush(stdout);
    }
  }
  for (char*& block : held) std::free(block), block = nullptr;
  std::printf("{\"SIGINT\": %d, \"SIGTERM\": %d, \"SIGHUP\": %d, \"SIGQUIT\": %d, \"SIGUSR1\": %d}\n",
              static_cast<int>(g_counts[SIGINT]), static_cast<int>(g_counts[SIGTERM]),
              static_cast<int>(g_counts[SIGHUP]), static_cast<int>(g_counts[SIGQUIT]),
              static_cast<int>(g_counts[SIGUSR1]));
  return status;
}
