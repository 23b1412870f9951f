// Threads that only call malloc and free, below calls that are DEPTH deep and whose innermost eight frames
// change from pair to pair. Usage: malloc_storm THREADS DEPTH SECONDS [FILE]. Prints JSON: nanoseconds per
// pair and thread; creates FILE at its end.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

thread_local std::uint64_t t_state;

#define NOT_INLINED __attribute__((noipa))

NOT_INLINED void pair() {
  t_state = t_state * 6364136223846793005ull + 1442695040888963407ull;
  void* block = std::malloc(16 + (t_state >> 55));
  asm volatile("" : : "r"(block) : "memory");
  std::free(block);
  asm volatile("" : : : "memory");
}
NOT_INLINED void right(int depth, unsigned path);
// Two functions that call each other, so that the path decides which frames are on the stack.
NOT_INLINED void left(int depth, unsigned path) {
  if (depth == 0)
    pair();
  else if (path & 1)
    right(depth - 1, path >> 1);
  else
    left(depth - 1, path >> 1);
  asm volatile("" : : : "memory");
}
NOT_INLINED void right(int depth, unsigned path) {
  if (depth == 0)
    pair();
  else if (path & 1)
    left(depth - 1, path >> 1);
  else
    right(depth - 1, path >> 1);
  asm volatile("" : : : "memory");
}
// The outer frames stay until the end; the eight innermost ones follow the path.
NOT_INLINED std::uint64_t descend(int depth, Clock::time_point end) {
  std::uint64_t pairs = 0;
  if (depth > 0) {
    pairs = descend(depth - 1, end);
  } else {
    for (; Clock::now() < end; pairs += 256)
      for (unsigned path = 0; path < 256; ++path) left(7, path);
  }
  asm volatile("" : : : "memory");
  return pairs;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const int thread_count = std::atoi(argv[1]), depth = std::atoi(argv[2]);
  const double seconds = std::atof(argv[3]);
  std::atomic<std::uint64_t> pairs{0};
  const auto start = Clock::now();
  const auto end =
      start + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  std::vector<std::thread> threads;
  for (int i = 0; i < thread_count; ++i) {
    threads.emplace_back([&, i] {
      t_state = static_cast<std::uint64_t>(i) + 1;
      pairs += descend(depth > 12 ? depth - 12 : 0, end);
    });
  }
  for (std::thread& thread : threads) thread.join();
  const double elapsed = std::chrono::duration<double>(Clock::now() - start).count();
  std::printf("{\"ns_per_pair\": %.3f, \"pairs\": %llu}\n",
              elapsed * 1e9 * thread_count / static_cast<double>(pairs),
              static_cast<unsigned long long>(pairs));
  if (argc > 4) {
    if (FILE* witness = std::fopen(argv[4], "w")) std::fclose(witness);
  }
}
