// Threads that start, allocate, hand a block on and end, as fast as the machine can create them, from several
// spawners at once: detached, on small stacks. Usage:
//   thread_storm THREADS SPAWNERS [FILE]   with FILE it begins when that file exists
//   thread_storm 0 SPAWNERS SECONDS        runs for SECONDS, or until SIGTERM
//
// Prints its answer like known_heap, with the number of threads, their rate per second, and "failures":
// threads that could not be created, and blocks whose content had changed. Exits with 1 if there were any.
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

constexpr std::size_t kStackBytes = 64 * 1024;
constexpr std::uint32_t kAtOnce = 64;  // per spawner

struct Site {
  const char* name;
  std::atomic<std::uint64_t> calls{0}, bytes{0}, freed_calls{0}, freed_bytes{0};
};
enum { kOwn, kGrown, kHanded, kLeft, kSites };
Site g_sites[kSites] = {{"site_own"}, {"site_grown"}, {"site_handed"}, {"site_left"}};
std::atomic<std::uint64_t> g_failures{0}, g_threads{0};

#define STAY(block) asm volatile("" : : "r"(block) : "memory")
#define SITE extern "C" __attribute__((noipa)) char*

SITE site_own(std::size_t size) {
  char* block = static_cast<char*>(std::malloc(size));
  STAY(block);
  return block;
}
SITE site_grown(char* old, std::size_t size) {
  char* block = static_cast<char*>(std::realloc(old, size));
  STAY(block);
  return block;
}
SITE site_handed(std::size_t size) {
  char* block = static_cast<char*>(std::malloc(size));
  STAY(block);
  return block;
}
SITE site_left(std::size_t size) {
  char* block = static_cast<char*>(std::calloc(1, size));
  STAY(block);
  return block;
}

char* taken(int site, char* block, std::size_t size) {
  if (block == nullptr) std::abort();
  g_sites[site].calls.fetch_add(1, std::memory_order_relaxed);
  g_sites[site].bytes.fetch_add(size, std::memory_order_relaxed);
  return block;
}
void gone(int site, std::size_t size) {
  g_sites[site].freed_calls.fetch_add(1, std::memory_order_relaxed);
  g_sites[site].freed_bytes.fetch_add(size, std::memory_order_relaxed);
}

// One per possible running thread of a spawner: the thread's number, and the block that it hands on.
struct Place {
  std::atomic<int> state{0};  // 0 free, 1 a thread runs, 2 it has handed its block on
  std::uint64_t number = 0;
  char* handed = nullptr;
  std::size_t size() const { return 16 + number % 200; }
};

void* live(void* argument) {
  Place& place = *static_cast<Place*>(argument);
  const std::size_t size = place.size();
  char* own = taken(kOwn, site_own(size), size);
  const char mark = static_cast<char>(place.number);
  std::memset(own, mark, size);
  gone(kOwn, size);
  own = taken(kGrown, site_grown(own, size * 2), size * 2);
  if (own[0] != mark || own[size - 1] != mark) ++g_failures;
  std::free(own);
  gone(kGrown, size * 2);
  place.handed = taken(kHanded, site_handed(size), size);
  place.handed[0] = mark;
  if (place.number % 64 == 0) STAY(taken(kLeft, site_left(size), size));
  g_threads.fetch_add(1, std::memory_order_relaxed);
  place.state.store(2, std::memory_order_release);
  return nullptr;
}

void collect(Place& place) {
  if (place.handed[0] != static_cast<char>(place.number)) ++g_failures;
  gone(kHanded, place.size());
  std::free(place.handed);
  place.state = 0;
}

struct Orders {
  std::uint64_t threads = 0;  // 0: until `end`, or SIGTERM
  std::chrono::steady_clock::time_point end;
};

std::atomic<bool> g_enough{false};

void* spawn(void* argument) {
  const Orders& orders = *static_cast<const Orders*>(argument);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  static Place all[16][kAtOnce];
  static std::atomic<unsigned> spawners{0};
  Place* places = all[spawners++ % 16];
  for (std::uint64_t i = 0;
       orders.threads != 0 ? i < orders.threads : !g_enough && std::chrono::steady_clock::now() < orders.end;
       ++i) {
    Place& place = places[i % kAtOnce];
    while (place.state.load(std::memory_order_acquire) == 1) sched_yield();
    if (place.state == 2) collect(place);
    place.number = i;
    place.state = 1;
    pthread_t thread;
    if (pthread_create(&thread, &attributes, live, &place) != 0) {
      ++g_failures;
      place.state = 0;
    }
  }
  for (std::uint32_t i = 0; i < kAtOnce; ++i) {
    while (places[i].state.load(std::memory_order_acquire) == 1) sched_yield();
    if (places[i].state == 2) collect(places[i]);
  }
  pthread_attr_destroy(&attributes);
  return nullptr;
}

void print(const char* key, std::uint64_t (*value)(const Site&)) {
  std::printf("\"%s\": {", key);
  for (int i = 0; i < kSites; ++i)
    std::printf("%s\"%s\": %llu", i == 0 ? "" : ", ", g_sites[i].name,
                static_cast<unsigned long long>(value(g_sites[i])));
  std::printf("}, ");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  std::signal(SIGTERM, [](int) { g_enough = true; });
  Orders orders;
  orders.threads = std::strtoull(argv[1], nullptr, 10);
  if (orders.threads != 0)
    while (argc > 3 && access(argv[3], F_OK) != 0) usleep(1000);
  const auto start = std::chrono::steady_clock::now();
  orders.end = start + std::chrono::milliseconds(argc > 3 ? std::atoi(argv[3]) * 1000 : 1000);
  std::vector<pthread_t> spawners(std::strtoull(argv[2], nullptr, 10));
  for (pthread_t& spawner : spawners)
    if (pthread_create(&spawner, nullptr, spawn, &orders) != 0) return 2;
  for (pthread_t& spawner : spawners) pthread_join(spawner, nullptr);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  // A thread that has handed its block on may still be exiting.
  usleep(100'000);
  std::printf("{");
  print("calls", [](const Site& site) { return site.calls.load(); });
  print("bytes", [](const Site& site) { return site.bytes.load(); });
  print("live_calls", [](const Site& site) { return site.calls - site.freed_calls; });
  print("live_bytes", [](const Site& site) { return site.bytes - site.freed_bytes; });
  std::printf("\"threads\": %llu, \"per_second\": %.0f, \"failures\": %llu}\n",
              static_cast<unsigned long long>(g_threads), static_cast<double>(g_threads) / seconds,
              static_cast<unsigned long long>(g_failures));
  return g_failures == 0 ? 0 : 1;
}
