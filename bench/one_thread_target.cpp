// one_thread_target WAIT SECONDS: sleeps, so that a profiler can attach, then sorts, searches and calls
// through a tree of functions for SECONDS. Prints the number of rounds and their CPU time.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace {

std::uint64_t g_random = 88172645463325252ULL;
std::uint64_t next_random() {
  g_random ^= g_random << 13;
  g_random ^= g_random >> 7;
  g_random ^= g_random << 17;
  return g_random;
}

__attribute__((noinline)) std::uint64_t sort_numbers() {
  std::vector<std::uint64_t> numbers(300);
  std::generate(numbers.begin(), numbers.end(), next_random);
  std::sort(numbers.begin(), numbers.end());
  return numbers[numbers.size() / 2];
}

__attribute__((noinline)) std::uint64_t count_words() {
  std::map<std::string, int> counts;
  for (int i = 0; i < 200; ++i) ++counts["word " + std::to_string(next_random() % 64)];
  return counts.size();
}

__attribute__((noinline)) std::uint64_t descend(int depth) {
  if (depth == 0) return sort_numbers() + count_words();
  const std::uint64_t below = descend(depth - 1);
  asm volatile("" ::: "memory");
  return below + 1;
}

}  // namespace

int main(int argc, char** argv) {
  const double wait_s = argc > 1 ? std::atof(argv[1]) : 0;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 2;
  std::this_thread::sleep_for(std::chrono::duration<double>(wait_s));
  const auto start = std::chrono::steady_clock::now();
  const std::clock_t cpu_start = std::clock();
  std::uint64_t rounds = 0;
  std::uint64_t sum = 0;
  std::chrono::duration<double> elapsed{};
  do {
    for (int i = 0; i < 20; ++i) sum += descend(8 + i);
    rounds += 20;
    elapsed = std::chrono::steady_clock::now() - start;
  } while (elapsed.count() < seconds);
  const double cpu_s = static_cast<double>(std::clock() - cpu_start) / CLOCKS_PER_SEC;
  std::printf("{\"rounds\": %llu, \"wall_s\": %.6f, \"cpu_s\": %.6f, \"sum\": %llu}\n",
              static_cast<unsigned long long>(rounds), elapsed.count(), cpu_s,
              static_cast<unsigned long long>(sum % 1000));
  return 0;
}
