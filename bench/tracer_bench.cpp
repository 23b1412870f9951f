// What does the tracer add to a pair of malloc and free (glibc) if a program does nothing else?
//
// The hooks are called through pointers, as through a slot. The innermost frames are a binary tree of calls,
// walked from left to right, with a pair at each leaf: up to 16,384 stacks, and a different one at every
// pair. `bare` is the same program with plain malloc and free; rounds of all kinds alternate, and medians are
// compared. In exact mode a thread of this process empties the rings and discards the events. Only the CPU
// time of the allocating threads counts, so that other programs disturb less. Exact mode is measured with
// both clocks: the counter, and the sequence where no counter orders events.
//
//   tracer_bench [seconds per round] [rounds]
#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <thread>
#include <vector>

#include "attach/tracer/testing_target.h"

namespace {

using fathom::tracer::testing::Target;
using Malloc = void*(std::size_t);
using Free = void(void*);

struct alignas(64) Work {  // threads do not share a cache line
  Malloc* allocate;
  Free* release;
  std::uint64_t random;
  double seconds;
  int tree;  // height of the tree of calls
  std::uint64_t pairs = 0;
  double cpu_ns = 0;
};

// Of this thread: other programs on the machine must not count.
double cpu_ns() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

constexpr int kTree = 14;

void pair(Work& work) {
  work.random += 0x9e3779b97f4a7c15u;
  void* block = work.allocate(16 + (work.random >> 60 << 5));
  asm volatile("" : : "r"(block) : "memory");
  work.release(block);
}

// A node of the tree, with one frame; two functions, so that two paths differ in their return addresses.
[[gnu::noinline]] void left(Work& work, int depth);
[[gnu::noinline]] void right(Work& work, int depth);

[[gnu::always_inline]] inline void node(Work& work, int depth) {
  if (depth == 0) {
    pair(work);
  } else {
    left(work, depth - 1);
    right(work, depth - 1);
  }
  asm volatile("" : : : "memory");
}
void left(Work& work, int depth) {
  node(work, depth);
}
void right(Work& work, int depth) {
  node(work, depth);
}

void run(Work& work) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration<double>(work.seconds);
  const double cpu_start = cpu_ns();
  do {
    node(work, work.tree);
    work.pairs += std::uint64_t{1} << work.tree;
  } while (Clock::now() < end);
  work.cpu_ns = cpu_ns() - cpu_start;
}

[[gnu::noinline]] void descend(Work& work, int depth) {
  if (depth == 0)
    run(work);
  else
    descend(work, depth - 1);
  asm volatile("" : : : "memory");
}

// Nanoseconds of CPU time per pair.
double measure(Malloc* allocate, Free* release, int threads, int depth, double seconds) {
  std::vector<Work> work(static_cast<std::size_t>(threads));
  std::vector<std::thread> running;
  for (std::size_t i = 0; i < work.size(); ++i) {
    work[i] = {allocate, release, i + 1, seconds, std::min(kTree, depth - 6)};
    // in addition to the tree: the start of the thread, and std::thread's frames
    running.emplace_back([&work, i, depth] { descend(work[i], depth - work[i].tree - 6); });
  }
  for (std::thread& each : running) each.join();
  double ns = 0;
  for (const Work& each : work) ns += each.cpu_ns / static_cast<double>(each.pairs) / threads;
  return ns;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

class Consumer {
 public:
  explicit Consumer(Target& target) : target_(target), thread_([this] { drain(); }) {}
  ~Consumer() {
    stop_ = true;
    thread_.join();
  }

 private:
  void drain() {
    while (!stop_) {
      for (std::uint32_t i = 0; i < target_.shared().ring_count; ++i) {
        tracer_ring& ring = target_.ring(i);
        __atomic_store_n(&ring.tail, __atomic_load_n(&ring.head, __ATOMIC_ACQUIRE), __ATOMIC_RELEASE);
      }
      target_.beat();
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
  }
  Target& target_;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 0.3;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 5;
  fmt::print("ns of CPU time per pair of malloc and free; median of {} rounds of {} s\n", rounds, seconds);
  fmt::print("{:>8} {:>6} {:>8} {:>16} {:>16} {:>16} {:>10}\n", "threads", "depth", "bare", "sampled 512 KiB",
             "exact, counter", "exact, sequence", "lost");
  for (const int threads : {1, 2}) {
    for (const int depth : {15, 60}) {
      std::vector<double> bare, sampled, exact[2];
      std::uint64_t lost = 0;
      for (int round = 0; round < rounds; ++round) {
        bare.push_back(measure(&std::malloc, &std::free, threads, depth, seconds));
        {
          Target target({.mode = TRACER_SAMPLED, .ring_bytes = 1 << 20});
          const Consumer consumer(target);
          sampled.push_back(measure(target.hook(TRACER_MALLOC, &std::malloc),
                                    target.hook(TRACER_FREE, &std::free), threads, depth, seconds));
        }
        for (const tracer_clock clock : {TRACER_CLOCK_COUNTER, TRACER_CLOCK_SEQUENCE}) {
          Target target({.ring_bytes = 1 << 20, .wait_ms = 1000, .clock = clock});
          const Consumer consumer(target);
          exact[clock].push_back(measure(target.hook(TRACER_MALLOC, &std::malloc),
                                         target.hook(TRACER_FREE, &std::free), threads, depth, seconds));
          for (std::uint32_t i = 0; i < target.shared().ring_count; ++i) lost += target.ring(i).lost;
        }
      }
      const double base = median(bare);
      fmt::print("{:>8} {:>6} {:>8.1f} {:>8.1f} ({:+5.1f}) {:>8.1f} ({:+5.1f}) {:>8.1f} ({:+5.1f}) {:>10}\n",
                 threads, depth, base, median(sampled), median(sampled) - base, median(exact[0]),
                 median(exact[0]) - base, median(exact[1]), median(exact[1]) - base, lost);
    }
  }
  return 0;
}
