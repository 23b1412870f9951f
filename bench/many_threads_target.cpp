// many_threads_target SECONDS: 300 threads as in a server. 270 are parked, 20 wake up every 10 ms for a
// little work, and 10 in five pairs hand work to each other as fast as they can. Prints the work of the
// pairs.
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

namespace {

std::atomic<bool> g_end = false;
std::atomic<long> g_trips = 0;
std::mutex g_lock;
std::condition_variable g_never;

__attribute__((noinline)) void park() {
  std::unique_lock guard(g_lock);
  g_never.wait(guard, [] { return g_end.load(); });
}

__attribute__((noinline)) void work(int amount) {
  for (int i = 0; i < amount; ++i) asm volatile("");
}

__attribute__((noinline)) void tick() {
  while (!g_end) {
    usleep(10'000);
    work(5000);
  }
}

struct Pair {
  int there[2], back[2];
};

__attribute__((noinline)) void serve(Pair& pair) {
  char byte;
  while (read(pair.there[0], &byte, 1) == 1) {
    work(20'000);
    if (write(pair.back[1], &byte, 1) != 1) return;
  }
}

__attribute__((noinline)) void ask(Pair& pair) {
  char byte = 'x';
  while (!g_end) {
    if (write(pair.there[1], &byte, 1) != 1 || read(pair.back[0], &byte, 1) != 1) abort();
    work(20'000);
    ++g_trips;
  }
  close(pair.there[1]);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  std::vector<Pair> pairs(5);
  std::vector<std::thread> threads;
  for (Pair& pair : pairs) {
    if (pipe(pair.there) != 0 || pipe(pair.back) != 0) return 2;
    threads.emplace_back([&pair] { serve(pair); });
    threads.emplace_back([&pair] { ask(pair); });
  }
  for (int i = 0; i < 20; ++i) threads.emplace_back(tick);
  while (threads.size() < 299) threads.emplace_back(park);
  const auto start = std::chrono::steady_clock::now();
  const long before = g_trips;
  std::this_thread::sleep_for(std::chrono::duration<double>(atof(argv[1])));
  const long trips = g_trips - before;
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  g_end = true;
  { const std::lock_guard guard(g_lock); }
  g_never.notify_all();
  for (auto& thread : threads) thread.join();
  std::printf("{\"trips_per_s\": %.1f}\n", static_cast<double>(trips) / seconds);
}
