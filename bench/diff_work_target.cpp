// diff_work_target KIND UNITS: does only UNITS of equal work, so twice the units need twice the CPU time.
// KIND: `arithmetic`, which other programs hardly slow; `memory`, which waits for memory; `objects`, which
// allocates and frees.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace {

__attribute__((noinline)) std::uint64_t arithmetic(std::uint64_t seed) {
  for (int i = 0; i < 90'000; ++i) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
  }
  return seed;
}

__attribute__((noinline)) std::uint64_t memory(std::uint64_t seed) {
  constexpr std::size_t kWords = 1u << 20;
  static std::vector<std::uint32_t> words(kWords, 1);
  auto at = static_cast<std::uint32_t>(seed);
  for (int i = 0; i < 4'000; ++i) {
    at = at * 2654435761u + words[at % kWords];
    words[at % kWords] += 1;
  }
  return at;
}

__attribute__((noinline)) std::uint64_t objects(std::uint64_t seed) {
  std::unordered_map<std::uint64_t, std::unique_ptr<std::string>> map;
  for (std::uint64_t i = 0; i < 1'000; ++i)
    map[seed ^ (i * 7919)] = std::make_unique<std::string>(40 + i % 60, 'x');
  return seed + map.size();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::string kind = argv[1];
  const long units = std::atol(argv[2]);
  std::uint64_t seed = 88172645463325252ULL;
  for (long i = 0; i < units; ++i)
    seed = kind == "arithmetic" ? arithmetic(seed) : kind == "memory" ? memory(seed) : objects(seed);
  std::printf("%llu\n", static_cast<unsigned long long>(seed));
}
