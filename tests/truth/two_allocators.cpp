// Two allocators in one program, jemalloc as malloc and mimalloc under its own names, or with
// MALLOC_IS_MIMALLOC mimalloc as malloc and jemalloc under its own names; counted to the byte. Usage:
//   two_allocators ROUNDS [FILE]
// with FILE it begins when that file exists. Prints its answer like known_heap.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#ifdef MALLOC_IS_MIMALLOC
extern "C" {
void* _rjem_malloc(std::size_t size);
void* _rjem_calloc(std::size_t count, std::size_t size);
void* _rjem_mallocx(std::size_t size, int flags);
void _rjem_free(void* block);
}
#define OWN_MALLOC _rjem_malloc
#define OWN_CALLOC _rjem_calloc
#define OWN_ALIGNED(size) _rjem_mallocx(size, 6)
#define OWN_FREE _rjem_free
#else
#include <mimalloc.h>
#define OWN_MALLOC mi_malloc
#define OWN_CALLOC mi_calloc
#define OWN_ALIGNED(size) mi_malloc_aligned(size, 64)
#define OWN_FREE mi_free
#endif

namespace {

struct Site {
  const char* name;
  unsigned long long calls = 0, bytes = 0, gone_bytes = 0;
};
enum { kPlain, kPlainZeroed, kPlainLeaked, kOwn, kOwnZeroed, kOwnLeaked, kSites };
Site g_sites[kSites] = {{"site_plain"}, {"site_plain_zeroed"}, {"site_plain_leaked"},
                        {"site_own"},   {"site_own_zeroed"},   {"site_own_leaked"}};
void* volatile g_kept;

#define SITE extern "C" __attribute__((noipa)) void*
SITE site_plain(std::size_t size) {
  void* block = std::malloc(size);
  g_kept = block;
  return block;
}
SITE site_plain_zeroed(std::size_t size) {
  void* block = std::calloc(1, size);
  g_kept = block;
  return block;
}
SITE site_plain_leaked(std::size_t size) {
  void* block = std::malloc(size);
  g_kept = block;
  return block;
}
SITE site_own(std::size_t size) {
  void* block = OWN_MALLOC(size);
  g_kept = block;
  return block;
}
SITE site_own_zeroed(std::size_t size) {
  void* block = OWN_CALLOC(1, size);
  g_kept = block;
  return block;
}
SITE site_own_leaked(std::size_t size) {
  void* block = OWN_ALIGNED(size);
  g_kept = block;
  return block;
}

void* book(int site, void* block, std::size_t size) {
  ++g_sites[site].calls;
  g_sites[site].bytes += size;
  std::memset(block, 1, size);
  return block;
}
void print(const char* name, unsigned long long (*of)(const Site&), const char* end) {
  std::printf("\"%s\": {", name);
  for (int i = 0; i < kSites; ++i)
    std::printf("%s\"%s\": %llu", i == 0 ? "" : ", ", g_sites[i].name, of(g_sites[i]));
  std::printf("}%s", end);
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 100;
  while (argc > 2 && ::access(argv[2], F_OK) != 0) ::usleep(10'000);
  for (int i = 0; i < rounds; ++i) {
    const std::size_t size = static_cast<std::size_t>(i * 37 % 3000 + 1);
    for (const int zeroed : {0, 1}) {
      void* plain = book(kPlain + zeroed, zeroed ? site_plain_zeroed(size) : site_plain(size), size);
      void* own = book(kOwn + zeroed, zeroed ? site_own_zeroed(size) : site_own(size), size);
      if (i % 3 == 0) {
        std::free(plain);
        OWN_FREE(own);
        g_sites[kPlain + zeroed].gone_bytes += size;
        g_sites[kOwn + zeroed].gone_bytes += size;
      }
    }
    if (i % 10 == 0) {
      book(kPlainLeaked, site_plain_leaked(size), size);
      book(kOwnLeaked, site_own_leaked(size), size);
    }
  }
  std::printf("{");
  print(
      "calls", [](const Site& site) { return site.calls; }, ", ");
  print(
      "bytes", [](const Site& site) { return site.bytes; }, ", ");
  print(
      "live_bytes", [](const Site& site) { return site.bytes - site.gone_bytes; }, "}\n");
  return 0;
}
