#include "bench/support/large_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <random>
#include <unordered_set>
#include <vector>

namespace fathom::bench {
namespace {

constexpr const char* kCrates[] = {"reth_db",
                                   "reth_trie::hashed_cursor",
                                   "tokio::runtime::task",
                                   "hyper::proto::h1",
                                   "alloy_primitives",
                                   "revm::interpreter",
                                   "std::collections::hash",
                                   "core::iter::adapters",
                                   "rayon_core::registry",
                                   "mdbx::cursor"};
constexpr std::size_t kFunctions = 20'000, kPrefixes = 200'000, kLeastDepth = 10, kThreads = 8;

// Only mt19937_64 itself gives the same numbers everywhere; the standard's distributions do not.
class Random {
 public:
  double part() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }  // [0, 1)
  std::size_t below(std::size_t end) { return static_cast<std::size_t>(part() * static_cast<double>(end)); }
  // Low indexes far more often than high ones.
  std::size_t mostly_first(std::size_t end, int power) {
    return static_cast<std::size_t>(std::pow(part(), power) * static_cast<double>(end));
  }

 private:
  std::mt19937_64 engine_{7};
};

class Stacks {
 public:
  Stacks() {
    for (std::size_t i = 0; i < kFunctions; ++i) {
      std::string name = std::string(kCrates[i % std::size(kCrates)]) + "::";
      for (std::size_t letters = 4 + random_.mostly_first(40, 2); letters-- > 0;)
        name += static_cast<char>('a' + random_.below(26));
      names_.push_back(name +
                       fmt::format("::h{:08x}", static_cast<std::uint32_t>(random_.below(1ull << 32))));
    }
    prefixes_.push_back({0, 1});
  }

  struct Stack {
    std::vector<std::uint32_t> functions;  // root first
    std::size_t thread = 0;
    std::uint64_t count = 1;
  };
  Stack next() {
    for (;;) {
      Stack stack;
      stack.functions = prefixes_[random_.mostly_first(prefixes_.size(), 2)];
      const std::size_t depth = kLeastDepth + random_.mostly_first(50, 2);
      if (stack.functions.size() >= depth) stack.functions.resize(depth - 1);
      const auto more = 1 + static_cast<std::size_t>(-4 * std::log(1 - random_.part()));
      const std::size_t end = std::max(kLeastDepth, std::min(depth, stack.functions.size() + more));
      while (stack.functions.size() < end)
        stack.functions.push_back(static_cast<std::uint32_t>(random_.mostly_first(kFunctions, 3)));
      std::uint64_t hash = 0;
      for (const std::uint32_t function : stack.functions) hash = (hash ^ function) * 0x9e3779b97f4a7c15;
      if (!seen_.insert(hash).second) continue;
      stack.thread = random_.below(kThreads);
      if (random_.part() >= 0.7)
        stack.count = static_cast<std::uint64_t>(std::min(1e5, std::pow(1 - random_.part(), -1 / 1.1)));
      if (prefixes_.size() < kPrefixes && random_.part() < 0.3) {
        prefixes_.push_back(stack.functions);
        prefixes_.back().resize(stack.functions.size() - 1 - random_.below(3));
      }
      return stack;
    }
  }
  const std::string& name(std::uint32_t function) const { return names_[function]; }

 private:
  Random random_;
  std::vector<std::string> names_;
  std::vector<std::vector<std::uint32_t>> prefixes_;  // common beginnings of stacks
  std::unordered_set<std::uint64_t> seen_;
};

}  // namespace

void write_large_folded(const std::string& path, std::size_t stacks) {
  Stacks source;
  std::ofstream file(path);
  for (std::size_t i = 0; i < stacks; ++i) {
    const Stacks::Stack stack = source.next();
    std::string line = fmt::format("worker-{}", stack.thread);
    for (const std::uint32_t function : stack.functions) line += ';' + source.name(function);
    file << line << ' ' << stack.count << '\n';
  }
}

void write_large_perf_script(const std::string& path, std::size_t stacks) {
  Stacks source;
  std::ofstream file(path);
  for (std::size_t i = 0; i < stacks; ++i) {
    const Stacks::Stack stack = source.next();
    file << fmt::format("worker-{} 100/{} [{:03}] {}.{:06}: {:>10} cpu-clock:\n", stack.thread,
                        101 + stack.thread, i % 2, 1000 + i / 1'000'000, i % 1'000'000,
                        stack.count * 1'000'000);
    for (auto function = stack.functions.rbegin(); function != stack.functions.rend(); ++function)
      file << fmt::format("\t    {:x} {}+0x1f (/usr/bin/server)\n", 0x555500000000 + *function * 64ull,
                          source.name(*function));
    file << '\n';
  }
}

}  // namespace fathom::bench
