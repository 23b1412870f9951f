// diff_target SECONDS THREADS PER_CENT: in each thread, twenty functions of unequal cost take turns with
// `planted`, which takes 5 % of the CPU time and does PER_CENT (100) of its usual work. For bench_diff: the
// change is known.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <utility>
#include <vector>

namespace {

inline std::uint64_t work(std::uint64_t seed, int steps) {
  for (int i = 0; i < steps; ++i) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
  }
  return seed;
}

template <int kNumber>
__attribute__((noinline)) std::uint64_t ordinary(std::uint64_t seed) {
  constexpr int kMost = 8000;
  const std::uint64_t result = work(seed, kMost / (1 + kNumber));
  asm volatile("" ::: "memory");
  return result + kNumber;
}

__attribute__((noinline)) std::uint64_t planted(std::uint64_t seed, int steps) {
  const std::uint64_t result = work(seed, steps);
  asm volatile("" ::: "memory");
  return result;
}

// One step of all ordinary functions together.
template <int... kNumbers>
constexpr int steps_of(std::integer_sequence<int, kNumbers...>) {
  return ((8000 / (1 + kNumbers)) + ...);
}

template <int... kNumbers>
std::uint64_t round_of(std::uint64_t seed, int planted_steps, std::integer_sequence<int, kNumbers...>) {
  ((seed = ordinary<kNumbers>(seed)), ...);
  return planted(seed, planted_steps);
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 20;
  const int threads = argc > 2 ? std::atoi(argv[2]) : 2;
  const int percent = argc > 3 ? std::atoi(argv[3]) : 100;
  using Numbers = std::make_integer_sequence<int, 20>;
  const int steps = steps_of(Numbers{}) * 5 / 95 * percent / 100;
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  std::vector<std::uint64_t> results(static_cast<std::size_t>(threads));
  std::vector<std::thread> workers;
  for (std::size_t i = 0; i < results.size(); ++i) {
    workers.emplace_back([&, i] {
      std::uint64_t seed = 88172645463325252ULL + i;
      while (std::chrono::steady_clock::now() < end) seed = round_of(seed, steps, Numbers{});
      results[i] = seed;
    });
  }
  for (std::thread& worker : workers) worker.join();
  std::uint64_t sum = 0;
  for (const std::uint64_t result : results) sum += result;
  std::printf("%llu\n", static_cast<unsigned long long>(sum));
}
