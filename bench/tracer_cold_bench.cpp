// What does sampling add to a pair of malloc and free (glibc) in a program that does other work in between?
//
// Between two pairs it reads a number of places in its own 4 MiB, and frees one of a thousand blocks that it
// keeps: so the tracer's memory is not always in the nearest caches, as in a server. Each slice of 4,000
// pairs with the hooks is between two without; medians and quartiles of the differences, in CPU time of the
// thread. One run means little on a shared machine: compare builds in turn, several times.
//
//   tracer_cold_bench [reads between two pairs] [slices]
#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <utility>
#include <vector>

#include "attach/tracer/testing_target.h"

namespace {

using fathom::tracer::testing::Target;
using Malloc = void*(std::size_t);
using Free = void(void*);

constexpr int kPairs = 4000;

double cpu_ns() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

class Program {
 public:
  explicit Program(int reads) : reads_(reads) {}

  // Nanoseconds of CPU time per pair.
  double slice(Malloc* allocate, Free* release) {
    const double start = cpu_ns();
    for (int pair = 0; pair < kPairs; ++pair) {
      void* block = allocate(16 + (next() >> 60 << 5));
      asm volatile("" : : "r"(block) : "memory");
      std::uint64_t sum = 0;
      for (int i = 0; i < reads_; ++i) sum += field_[next() >> 45];  // 19 bits: an index into 4 MiB / 8
      asm volatile("" : : "r"(sum));
      std::swap(block, kept_[next() >> 54]);
      release(block);
    }
    return (cpu_ns() - start) / kPairs;
  }

 private:
  std::uint64_t next() { return random_ = random_ * 6364136223846793005u + 1442695040888963407u; }

  int reads_;
  std::uint64_t random_ = 1;
  std::vector<std::uint64_t> field_ = std::vector<std::uint64_t>((4 << 20) / 8, 1);
  std::vector<void*> kept_ = std::vector<void*>(1024);
};

}  // namespace

int main(int argc, char** argv) {
  const int reads = argc > 1 ? std::atoi(argv[1]) : 16;
  const int slices = argc > 2 ? std::max(std::atoi(argv[2]), 1) : 300;
  Target target({.mode = TRACER_SAMPLED, .ring_bytes = 1 << 20});
  Malloc* allocate = target.hook(TRACER_MALLOC, &std::malloc);
  Free* release = target.hook(TRACER_FREE, &std::free);
  Program program(reads);
  std::vector<double> bare, added;
  for (int i = 0; i < slices; ++i) {
    target.beat();
    const double before = program.slice(&std::malloc, &std::free);
    const double hooked = program.slice(allocate, release);
    const double after = program.slice(&std::malloc, &std::free);
    bare.push_back(before);
    added.push_back(hooked - (before + after) / 2);
    target.drain();
  }
  std::sort(bare.begin(), bare.end());
  std::sort(added.begin(), added.end());
  const auto at = [](const std::vector<double>& values, std::size_t quarter) {
    return values[(values.size() - 1) * quarter / 4];
  };
  fmt::print("{} reads: bare {:.1f} ns, sampled added {:.1f} [{:.1f} to {:.1f}]\n", reads, at(bare, 2),
             at(added, 2), at(added, 1), at(added, 3));
  return 0;
}
