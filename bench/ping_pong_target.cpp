// ping_pong_target SECONDS: two threads on one CPU pass a byte to each other through two pipes, below a stack
// of some depth. Only context switches. Prints the number of round trips.
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace {

int g_there[2], g_back[2];

__attribute__((noinline)) bool hand_over(int depth, int from, int to) {
  if (depth > 0) {
    const bool done = hand_over(depth - 1, from, to);
    asm volatile("" ::: "memory");
    return done;
  }
  char byte;
  return read(from, &byte, 1) == 1 && write(to, &byte, 1) == 1;
}

void stay_on_one_cpu() {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  CPU_SET(0, &cpus);
  pthread_setaffinity_np(pthread_self(), sizeof(cpus), &cpus);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 || pipe(g_there) != 0 || pipe(g_back) != 0) return 2;
  using Clock = std::chrono::steady_clock;
  std::thread echo([] {
    stay_on_one_cpu();
    while (hand_over(8, g_there[0], g_back[1])) {
    }
  });
  stay_on_one_cpu();
  const auto start = Clock::now();
  const auto end =
      start + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(atof(argv[1])));
  long trips = 0;
  char byte = 'x';
  while (Clock::now() < end) {
    if (write(g_there[1], &byte, 1) != 1 || !hand_over(8, g_back[0], g_there[1])) return 1;
    if (read(g_back[0], &byte, 1) != 1) return 1;
    trips += 2;
  }
  close(g_there[1]);
  echo.join();
  std::printf("{\"trips_per_s\": %.1f}\n",
              static_cast<double>(trips) / std::chrono::duration<double>(Clock::now() - start).count());
}
