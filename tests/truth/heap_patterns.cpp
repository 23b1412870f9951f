// Memory over time, one pattern per argument: the right verdict about the heap is known beforehand. Usage:
//   heap_patterns PATTERN SECONDS
// Prints its answer as JSON: the function that the pattern is about, what it did, and its largest delay.
// Every pattern also does some work that leaves nothing behind, evenly over time. The program sleeps most of
// the time: two of them do not disturb each other.
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <string>
#include <thread>
#include <vector>

namespace {

#define SITE extern "C" __attribute__((noipa))
#define STAY(block) asm volatile("" : : "r"(block) : "memory")

// Each pattern has its own functions, so that a verdict about the wrong one is noticed.
#define SITE_OF(name)                 \
  SITE void* name(std::size_t size) { \
    void* block = std::malloc(size);  \
    STAY(block);                      \
    return block;                     \
  }
SITE_OF(site_request)
SITE_OF(site_leak)
SITE_OF(site_slow_leak)
SITE_OF(site_cache)
SITE_OF(site_noise)
SITE_OF(site_churn)
SITE_OF(site_spike)
SITE_OF(site_base)
SITE_OF(site_handed)
SITE_OF(site_until_exit)
SITE_OF(site_warm_up)
SITE_OF(site_per_work)

SITE void* site_grown(void* old, std::size_t size) {
  void* block = std::realloc(old, size);
  STAY(block);
  return block;
}

double now_s() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

std::uint64_t g_random = 88172645463325252u;
std::uint64_t random_number() {
  g_random ^= g_random << 13;
  g_random ^= g_random >> 7;
  return g_random ^= g_random << 17;
}

// Common to all patterns: requests whose memory is freed.
void serve(int count) {
  for (int i = 0; i < count; ++i) std::free(site_request(100 + random_number() % 400));
}

double g_late_s = 0;        // the largest delay of a tick
std::uint64_t g_bytes = 0;  // of the pattern, live at the end
std::vector<void*> g_kept;

// Calls step(tick, ticks) every 5 ms.
template <class Step>
void every_tick(double seconds, Step step) {
  constexpr double kTick = 0.005;
  const double start = now_s();
  const int ticks = static_cast<int>(seconds / kTick);
  for (int tick = 0; tick < ticks; ++tick) {
    step(tick, ticks);
    serve(20);
    const double left = start + (tick + 1) * kTick - now_s();
    if (left > 0) usleep(static_cast<useconds_t>(left * 1e6));
    g_late_s = std::max(g_late_s, -left);
  }
}

// 4 KiB more with each tick: 800 KiB/s.
void leak(double seconds) {
  every_tick(seconds, [](int, int) {
    for (int i = 0; i < 4; ++i) STAY(site_leak(1024));
    g_bytes += 4096;
  });
}

// A map that is filled and halved repeatedly, plus 100 KiB/s that is never freed.
void slow_leak(double seconds) {
  std::vector<void*> map;
  every_tick(seconds, [&](int, int) {
    STAY(site_slow_leak(512));
    g_bytes += 512;
    const std::size_t count = random_number() % 60;
    for (std::size_t i = 0; i < count; ++i) map.push_back(site_noise(4096));
    if (map.size() <= 1000) return;
    while (map.size() > 500) {
      std::swap(map[random_number() % map.size()], map.back());
      std::free(map.back());
      map.pop_back();
    }
  });
  for (void* block : map) std::free(block);
}

// A new entry evicts the least recently used one.
void cache(double seconds) {
  std::deque<void*> blocks;
  constexpr std::size_t kLimit = 1000;
  every_tick(seconds, [&](int, int) {
    for (int i = 0; i < 8; ++i) {
      blocks.push_back(site_cache(4096));
      if (blocks.size() <= kLimit) continue;
      std::free(blocks.front());
      blocks.pop_front();
    }
  });
  g_bytes = blocks.size() * 4096;
  // As in a killed process: nothing is freed.
  for (void* block : blocks) g_kept.push_back(block);
}

void churn(double seconds) {
  every_tick(seconds, [](int, int) {
    for (int i = 0; i < 500; ++i) std::free(site_churn(64 + random_number() % 1000));
  });
}

// A tenth of the time in the middle, twelve times as much as usual.
void spike(double seconds) {
  void* base = site_base(1 << 20);
  std::vector<void*> blocks;
  every_tick(seconds, [&](int tick, int ticks) {
    if (tick == ticks / 2)
      for (int i = 0; i < 12; ++i) blocks.push_back(site_spike(1 << 20));
    if (tick == ticks * 6 / 10) {
      for (void* block : blocks) std::free(block);
      blocks.clear();
    }
  });
  g_bytes = 12u << 20;
  g_kept.push_back(base);
}

// One block that grows by 16 KiB with each tick.
void grown(double seconds) {
  void* block = nullptr;
  every_tick(seconds, [&](int, int) { block = site_grown(block, g_bytes += 16384); });
  g_kept.push_back(block);
}

// One thread allocates and another frees most of it: every eighth block is leaked.
void handed(double seconds) {
  std::atomic<void*> box{nullptr};
  std::atomic<bool> done{false};
  std::thread other([&] {
    while (!done.load()) {
      std::free(box.exchange(nullptr));
      usleep(200);
    }
  });
  every_tick(seconds, [&](int, int) {
    for (int i = 0; i < 8; ++i) {
      void* block = site_handed(1024);
      if (i == 7) {
        g_bytes += 1024;
        continue;
      }
      void* none = nullptr;
      while (!box.compare_exchange_weak(none, block)) {
        none = nullptr;
        usleep(50);
      }
    }
  });
  done.store(true);
  other.join();
  std::free(box.exchange(nullptr));
}

// Everything stays reachable, and is freed when the program exits.
void at_exit(double seconds) {
  std::vector<void*> blocks;
  every_tick(seconds, [&](int tick, int ticks) {
    if (tick < ticks / 10)
      for (int i = 0; i < 20; ++i) blocks.push_back(site_until_exit(2048));
  });
  g_bytes = blocks.size() * 2048;
  for (void* block : blocks) std::free(block);
}

// Varies by an eighth around 4 MiB, with some persistence.
void noise(double seconds) {
  std::vector<void*> blocks;
  double level = 0;
  every_tick(seconds, [&](int, int) {
    level = 0.9 * level + (static_cast<double>(random_number() % 2001) - 1000) / 1000 * 100;
    const auto wanted = static_cast<std::size_t>(1024 + std::lround(level));
    while (blocks.size() < wanted) blocks.push_back(site_noise(4096));
    while (blocks.size() > wanted) {
      std::swap(blocks[random_number() % blocks.size()], blocks.back());
      std::free(blocks.back());
      blocks.pop_back();
    }
  });
  for (void* block : blocks) std::free(block);
}

// Tables are filled during the first quarter and stay.
void warm_up(double seconds) {
  every_tick(seconds, [](int tick, int ticks) {
    if (tick >= ticks / 4) return;
    for (int i = 0; i < 30; ++i) g_kept.push_back(site_warm_up(1024));
    g_bytes += 30 * 1024;
  });
}

// One session per request of this second, and ever more requests.
void with_work(double seconds) {
  std::deque<void*> sessions;
  every_tick(seconds, [&](int tick, int) {
    serve(tick / 2);
    const std::size_t wanted = 50 + static_cast<std::size_t>(tick) * 2;
    for (int i = 0; i < 20 + tick / 10; ++i) sessions.push_back(site_per_work(1024));
    while (sessions.size() > wanted) {
      std::free(sessions.front());
      sessions.pop_front();
    }
  });
  g_bytes = sessions.size() * 1024;
  for (void* block : sessions) g_kept.push_back(block);
}

struct Pattern {
  const char* name;
  const char* function;
  void (*run)(double seconds);
};
constexpr Pattern kPatterns[] = {{"leak", "site_leak", leak},
                                 {"slow-leak", "site_slow_leak", slow_leak},
                                 {"cache", "site_cache", cache},
                                 {"churn", "site_churn", churn},
                                 {"peak", "site_spike", spike},
                                 {"realloc", "site_grown", grown},
                                 {"handed", "site_handed", handed},
                                 {"at-exit", "site_until_exit", at_exit},
                                 {"noise", "site_noise", noise},
                                 {"warm-up", "site_warm_up", warm_up},
                                 {"with-work", "site_per_work", with_work}};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  for (const Pattern& pattern : kPatterns) {
    if (std::strcmp(argv[1], pattern.name) != 0) continue;
    const double start = now_s();
    pattern.run(std::atof(argv[2]));
    std::printf(R"({"function": "%s", "bytes": %llu, "seconds": %.3f, "late_s": %.3f})"
                "\n",
                pattern.function, static_cast<unsigned long long>(g_bytes), now_s() - start, g_late_s);
    std::fflush(stdout);
    // Skips the destructors: blocks freed there would also be live until the end.
    _exit(0);
  }
  return 2;
}
