// Allocates blocks of known sizes and lifetimes at known places, and prints their history as JSON: for each
// kind their number, and where and when some of them lived.
//   short_lived  freed at once                      long    freed after 300 ms
//   handed       freed by a thread named "freer"    leaked  never freed
//   sized        one of each size 1 .. 4096, freed at once
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace {

constexpr int kShortLived = 5000, kLong = 50, kHanded = 200, kLeaked = 7, kSized = 4096;
constexpr std::size_t kShortLivedSize = 100, kLongSize = 3000, kHandedSize = 200, kLeakedSize = 70'000;

// The barriers keep a call from being the last action of its function, and hide from the compiler that a
// block is never used.
#define SITE extern "C" __attribute__((noipa))
#define STAY(block) asm volatile("" : : "r"(block) : "memory")

SITE void* site_short_lived() {
  void* block = std::malloc(kShortLivedSize);
  STAY(block);
  return block;
}
SITE void* site_long() {
  void* block = std::malloc(kLongSize);
  STAY(block);
  return block;
}
SITE void* site_handed() {
  void* block = std::malloc(kHandedSize);
  STAY(block);
  return block;
}
SITE void* site_leaked() {
  void* block = std::malloc(kLeakedSize);
  STAY(block);
  return block;
}
SITE void* site_sized(std::size_t size) {
  void* block = std::malloc(size);
  STAY(block);
  return block;
}

unsigned long long now_ns() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<unsigned long long>(time.tv_sec) * 1'000'000'000 +
         static_cast<unsigned long long>(time.tv_nsec);
}

}  // namespace

int main() {
  void* leaked[kLeaked];
  for (void*& block : leaked) block = site_leaked();
  for (int i = 0; i < kShortLived; ++i) std::free(site_short_lived());
  for (int size = 1; size <= kSized; ++size) std::free(site_sized(static_cast<std::size_t>(size)));
  void* lasting[kLong];
  for (void*& block : lasting) block = site_long();
  usleep(150'000);
  const unsigned long long middle_ns = now_ns();
  usleep(150'000);
  for (void* block : lasting) std::free(block);
  static void* handed[kHanded];
  for (void*& block : handed) block = site_handed();
  std::thread([] {
    pthread_setname_np(pthread_self(), "freer");
    for (void* block : handed) std::free(block);
  }).join();
  std::printf(
      "{\"short_lived\": %d, \"long\": %d, \"handed\": %d, \"leaked\": %d, \"sized\": %d, \"middle_ns\": "
      "%llu, "
      "\"leaked_address\": %llu}\n",
      kShortLived, kLong, kHanded, kLeaked, kSized, middle_ns,
      static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(leaked[3])));
  return 0;
}
