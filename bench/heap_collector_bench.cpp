// How many events of the heap tracer the collector handles per second, in one thread: it reads rings, orders
// events, follows blocks, adds up sites. Only draining is timed; the events are written in between, as the
// tracer would write them. 16,384 stacks. CPU time of the thread: other programs on the machine do not count.
//   pairs    each thread allocates and frees at once, like a loop of malloc and free
//   churn    10^6 blocks are live; each event frees one at random or allocates: every one misses the cache
// In one ring, and in four whose ticks interleave.
#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <string_view>
#include <vector>

#include "record/heap/collector.h"
#include "record/heap/testing_tracer.h"

namespace {

using namespace fathom;
using namespace fathom::sources::heap;

constexpr std::uint32_t kStacks = 16'384;

struct Run {
  const char* name;
  std::uint32_t rings;
  std::uint64_t live;  // blocks; 0: pairs
};

class Bench {
 public:
  explicit Bench(const Run& run)
      : run_(run),
        tracer_(run.rings, 1u << 20),
        collector_(Collector::create(tracer_.layout(), tracer_.memory(), now()).value()) {
    for (std::uint32_t ring = 0; ring < run.rings; ++ring) {
      tracer_.thread(ring, ++ticks_, 1000 + ring);
      for (std::uint32_t stack = 1; stack <= kStacks / run.rings; ++stack) {
        const std::uint32_t number = ring * kStacks + stack;
        tracer_.stack(ring, ++ticks_, number, {0x1000 + number, 0x2000, 0x3000 + number % 100, 0x4000});
        if (stack % 1000 == 0) drain();
      }
    }
    drain();
    while (blocks_.size() < run.live) fill();
    taken_ = 0;
    spent_ns_ = 0;
  }

  // Events per second.
  double measure(double seconds) {
    while (spent_ns_ < seconds * 1e9) fill();
    return static_cast<double>(taken_) / spent_ns_ * 1e9;
  }
  std::uint64_t live() const { return collector_.live_blocks_followed(); }

 private:
  Moment now() const { return {FakeTracer::kBase + ticks_, FakeTracer::kBase + ticks_}; }
  void drain() {
    const std::uint64_t before = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    taken_ += collector_.drain(now()).events;
    if (collector_.slice()) ++slices_;
    spent_ns_ += static_cast<double>(clock_ns(CLOCK_THREAD_CPUTIME_ID) - before);
  }
  void fill() {
    for (std::uint32_t i = 0; i < 20'000; ++i) {
      const auto ring = static_cast<std::uint32_t>(random_() % run_.rings);
      const std::uint32_t stack =
          ring * kStacks + 1 + static_cast<std::uint32_t>(random_() % (kStacks / run_.rings));
      const std::uint64_t size = 16 + random_() % 512;
      ticks_ += 50;
      if (run_.live == 0) {
        const std::uint64_t block = 0x7f0000000000 + ring * 0x10000000 + random_() % 512 * 16;
        tracer_.alloc(ring, ticks_, block, size, stack);
        ticks_ += 50;
        tracer_.free(ring, ticks_, block);
      } else if (blocks_.size() < run_.live) {
        blocks_.push_back(0x7f0000000000 + blocks_.size() * 48);
        tracer_.alloc(ring, ticks_, blocks_.back(), size, stack);
      } else {  // a random block is freed, and its place is reused
        const std::uint64_t block = blocks_[random_() % blocks_.size()];
        tracer_.free(ring, ticks_, block);
        ticks_ += 50;
        tracer_.alloc(ring, ticks_, block, size, stack);
      }
    }
    drain();
  }

  Run run_;
  FakeTracer tracer_;
  std::uint64_t ticks_ = 1;
  Collector collector_;
  std::mt19937_64 random_{1};
  std::vector<std::uint64_t> blocks_;
  std::uint64_t taken_ = 0, slices_ = 0;
  double spent_ns_ = 0;
};

}  // namespace

// The argument: part of the name of the rows to run.
int main(int argc, char** argv) {
  fmt::print("{:<22} {:>14} {:>10} {:>12}\n", "events", "M events/s", "ns each", "live");
  for (const Run& run : {Run{"pairs, 1 ring", 1, 0}, Run{"pairs, 4 rings", 4, 0},
                         Run{"churn, 1 ring", 1, 1'000'000}, Run{"churn, 4 rings", 4, 1'000'000}}) {
    if (argc > 1 && std::string_view(run.name).find(argv[1]) == std::string_view::npos) continue;
    Bench bench(run);
    std::vector<double> rates;
    for (int i = 0; i < 3; ++i) rates.push_back(bench.measure(0.5 * (i + 1)));
    std::sort(rates.begin(), rates.end());
    fmt::print("{:<22} {:>14.1f} {:>10.1f} {:>12}\n", run.name, rates[1] / 1e6, 1e9 / rates[1], bench.live());
  }
}
