// Allocates known blocks, lets jemalloc write a dump of its heap, and frees them again: argv[2] times, into
// the folder argv[1]. Each time they are allocated and sampled again. Exit status 77: jemalloc is not
// preloaded, or cannot profile. Sizes are jemalloc's size classes, so a dump counts the requested sizes:
//   20,000 of 96 bytes   200 of 4,096   40 of 20,480
#include <cstddef>
#include <cstdio>
#include <cstdlib>

extern "C" __attribute__((weak)) int mallctl(const char*, void*, std::size_t*, void*, std::size_t);

namespace {

constexpr int kSmall = 20'000, kPages = 200, kLarge = 40;
constexpr std::size_t kSmallSize = 96, kPageSize = 4'096, kLargeSize = 20'480;
void* blocks[kSmall + kPages + kLarge];

#define SITE extern "C" __attribute__((noipa))
#define STAY(block) asm volatile("" : : "r"(block) : "memory")

SITE void* site_small() {
  void* block = std::malloc(kSmallSize);
  STAY(block);
  return block;
}
SITE void* site_page() {
  void* block = std::malloc(kPageSize);
  STAY(block);
  return block;
}
SITE void* site_large() {
  void* block = std::malloc(kLargeSize);
  STAY(block);
  return block;
}

}  // namespace

int main(int, char** argv) {
  if (mallctl == nullptr) return 77;
  const int rounds = std::atoi(argv[2]);
  for (int round = 0; round < rounds; ++round) {
    int next = 0;
    for (int i = 0; i < kSmall; ++i) blocks[next++] = site_small();
    for (int i = 0; i < kPages; ++i) blocks[next++] = site_page();
    for (int i = 0; i < kLarge; ++i) blocks[next++] = site_large();
    char path[4096];
    std::snprintf(path, sizeof path, "%s/%d.heap", argv[1], round);
    const char* name = path;
    if (mallctl("prof.dump", nullptr, nullptr, &name, sizeof name) != 0) return 77;
    for (void*& block : blocks) std::free(block);
  }
  return 0;
}
