// Allocates at known places and counts every call itself, to the byte. Usage:
//   known_heap ROUNDS THREADS [FILE]     with FILE it begins when that file exists, for attaching
// Prints its answer as JSON: for each site the calls, the bytes, and the memory that is never freed. A
// realloc counts as a call for the new size at its site, and as the end of the old block.
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

namespace {

struct Site {
  const char* name;
  std::atomic<std::uint64_t> calls{0}, bytes{0}, freed_calls{0}, freed_bytes{0};
};
enum SiteNumber {
  kSmall,
  kBig,
  kZeroed,
  kAligned,
  kEmpty,
  kGrown,
  kKept,
  kShrunk,
  kArray,
  kHanded,
  kLeaked,
  kNew,
  kString,
  kHandler,
  kThreadLocal,
  kStorm,
  kConstructor,
  kAtExit,
  kSites
};
Site g_sites[kSites] = {{"site_small"},       {"site_big"},     {"site_zeroed"},       {"site_aligned"},
                        {"site_empty"},       {"site_grown"},   {"site_kept"},         {"site_shrunk"},
                        {"site_array"},       {"site_handed"},  {"site_leaked"},       {"site_new"},
                        {"site_string"},      {"site_handler"}, {"site_thread_local"}, {"site_storm"},
                        {"site_constructor"}, {"site_at_exit"}};

void booked(SiteNumber site, std::size_t bytes) {
  g_sites[site].calls += 1;
  g_sites[site].bytes += bytes;
}
void freed(SiteNumber site, std::size_t bytes) {
  g_sites[site].freed_calls += 1;
  g_sites[site].freed_bytes += bytes;
}

// The barriers keep a call from being the last action of its function, where it would become a jump without a
// frame, and hide from the compiler that a block is never used.
#define SITE extern "C" __attribute__((noipa))
#define STAY(block) asm volatile("" : : "r"(block) : "memory")

SITE void* site_small(std::size_t size) {
  void* block = std::malloc(size);
  STAY(block);
  booked(kSmall, size);
  return block;
}
SITE void* site_big(std::size_t size) {
  void* block = std::malloc(size);
  STAY(block);
  booked(kBig, size);
  return block;
}
SITE void* site_zeroed(std::size_t count, std::size_t size) {
  void* block = std::calloc(count, size);
  STAY(block);
  booked(kZeroed, count * size);
  return block;
}
SITE void* site_aligned(int how, std::size_t size) {
  void* block = nullptr;
  if (how == 0 && posix_memalign(&block, 256, size) != 0) abort();
  if (how == 1) block = aligned_alloc(64, size);
  if (how == 2) block = memalign(1024, size);
  STAY(block);
  booked(kAligned, size);
  return block;
}
SITE void* site_empty() {
  void* block = std::malloc(0);
  STAY(block);
  booked(kEmpty, 0);
  return block;
}
SITE void* site_grown(void* old, std::size_t old_size, std::size_t size) {
  void* block = std::realloc(old, size);
  STAY(block);
  if (old != nullptr) freed(kGrown, old_size);
  booked(kGrown, size);
  return block;
}
// A realloc that fails leaves the block unchanged.
SITE void* site_kept() {
  void* block = std::malloc(77);
  STAY(block);
  booked(kKept, 77);
  volatile std::size_t too_much = PTRDIFF_MAX - 4096;
  void* none = std::realloc(block, too_much);
  STAY(none);
  if (none != nullptr) abort();
  return block;
}
SITE void site_shrunk() {
  void* block = std::malloc(99);
  STAY(block);
  booked(kShrunk, 99);
  volatile std::size_t nothing = 0;
  void* none = std::realloc(block, nothing);  // glibc: free
  STAY(none);
  freed(kShrunk, 99);
}
SITE void* site_array(std::size_t count) {
  void* block = reallocarray(nullptr, count, 24);
  STAY(block);
  booked(kArray, count * 24);
  return block;
}
SITE void* site_handed(std::size_t size) {
  void* block = std::malloc(size);
  STAY(block);
  booked(kHanded, size);
  return block;
}
SITE void site_leaked(std::size_t size) {
  void* block = std::malloc(size);
  STAY(block);
  booked(kLeaked, size);
}
SITE char* site_new(std::size_t size) {
  char* block = new char[size];
  STAY(block);
  booked(kNew, size);
  return block;
}
SITE char* site_string(const char* text) {
  char* block = strdup(text);
  STAY(block);
  booked(kString, std::strlen(text) + 1);
  return block;
}
SITE void site_handler(int) {
  void* block = std::malloc(123);
  STAY(block);
  booked(kHandler, 123);
  std::free(block);
  freed(kHandler, 123);
}
SITE void* site_thread_local() {
  void* block = std::malloc(555);
  STAY(block);
  booked(kThreadLocal, 555);
  return block;
}
SITE void* site_storm(std::size_t size) {
  void* block = std::malloc(size);
  STAY(block);
  booked(kStorm, size);
  return block;
}
SITE void* site_constructor() {
  void* block = std::malloc(4321);
  STAY(block);
  booked(kConstructor, 4321);
  return block;
}
SITE void* site_at_exit() {
  void* block = std::malloc(1234);
  STAY(block);
  booked(kAtExit, 1234);
  return block;
}

// A destructor of thread-local objects frees memory left by a thread.
struct Remnant {
  void* block = nullptr;
  ~Remnant() {
    if (block == nullptr) return;
    std::free(block);
    freed(kThreadLocal, 555);
  }
};
thread_local Remnant t_remnant;

struct Early {
  void* block = site_constructor();
} g_early;

// Blocks on their way from the allocating thread to the freeing one.
constexpr int kMailbox = 64;
std::atomic<void*> g_mailbox[kMailbox];
constexpr std::size_t kHandedSize = 200;

void hand_over(int round) {
  void* mine = site_handed(kHandedSize);
  void* other = g_mailbox[round % kMailbox].exchange(mine);
  if (other != nullptr) {
    std::free(other);
    freed(kHanded, kHandedSize);
  }
}

void play(int rounds, unsigned seed) {
  for (int round = 0; round < rounds; ++round) {
    seed = seed * 1664525 + 1013904223;
    const std::size_t size = 1 + (seed >> 16) % 500;
    std::free(site_small(size));
    freed(kSmall, size);
    hand_over(round);
    if (round % 8 == 0) {
      const std::size_t big = 200'000 + (seed >> 16);
      std::free(site_big(big));
      freed(kBig, big);
    }
    std::free(site_zeroed(1 + round % 7, size));
    freed(kZeroed, (1 + round % 7) * size);
    std::free(site_aligned(round % 3, size * 64));
    freed(kAligned, size * 64);
    std::free(site_empty());
    freed(kEmpty, 0);
    void* grown = nullptr;
    std::size_t grown_size = 0;
    for (std::size_t next = 24; next < 40'000; next *= 3) {
      grown = site_grown(grown, grown_size, next);
      grown_size = next;
    }
    std::free(grown);
    freed(kGrown, grown_size);
    std::free(site_kept());
    freed(kKept, 77);
    site_shrunk();
    std::free(site_array(1 + round % 5));
    freed(kArray, (1 + round % 5) * 24);
    if (round % 4 == 0) site_leaked(64 + size);
    delete[] site_new(size);
    freed(kNew, size);
    std::free(site_string("what libc allocates for others"));
    freed(kString, std::strlen("what libc allocates for others") + 1);
    if (round % 16 == 0) raise(SIGUSR2);
    if (round % 64 == 0) {
      std::thread([size] {
        t_remnant.block = site_thread_local();
        std::free(site_storm(size));
        freed(kStorm, size);
      }).join();
    }
  }
}

void print(const char* key, std::uint64_t (*value)(const Site&), const char* end) {
  std::printf("\"%s\": {", key);
  for (int i = 0; i < kSites; ++i)
    std::printf("%s\"%s\": %llu", i == 0 ? "" : ", ", g_sites[i].name,
                static_cast<unsigned long long>(value(g_sites[i])));
  std::printf("}%s", end);
}
void print_answer() {
  std::printf("{");
  print(
      "calls", [](const Site& site) -> std::uint64_t { return site.calls; }, ", ");
  print(
      "bytes", [](const Site& site) -> std::uint64_t { return site.bytes; }, ", ");
  print(
      "live_calls", [](const Site& site) -> std::uint64_t { return site.calls - site.freed_calls; }, ", ");
  print(
      "live_bytes", [](const Site& site) -> std::uint64_t { return site.bytes - site.freed_bytes; }, "}\n");
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const int rounds = std::atoi(argv[1]), thread_count = std::atoi(argv[2]);
  std::atexit(print_answer);  // the first one registered runs last
  std::atexit([] { STAY(site_at_exit()); });
  struct sigaction action {};
  action.sa_handler = site_handler;
  sigaction(SIGUSR2, &action, nullptr);
  while (argc > 3 && access(argv[3], F_OK) != 0) usleep(1000);
  std::vector<std::thread> threads;
  threads.reserve(static_cast<std::size_t>(thread_count));
  for (int i = 1; i < thread_count; ++i)
    threads.emplace_back(play, rounds, 12345u + static_cast<unsigned>(i));
  play(rounds, 12345);
  for (std::thread& thread : threads) thread.join();
  return 0;
}
