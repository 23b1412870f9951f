// Blocks from mimalloc's own functions and from separate heaps, at known places, counted to the byte. Usage:
//   mimalloc_heaps LIBRARY ROUNDS [FILE]
// LIBRARY is a libmimalloc.so of version 2, loaded at once; with FILE it begins when that file exists. Prints
// its answer like known_heap. Heaps end with mi_heap_delete, which keeps their blocks: the program frees them
// one by one.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <iterator>

namespace {

struct Site {
  const char* name;
  unsigned long long calls = 0, bytes = 0, gone_calls = 0, gone_bytes = 0;
};
enum {
  kMalloc,
  kZalloc,
  kSmall,
  kCalloc,
  kMallocn,
  kAligned,
  kAlignedCalloc,
  kGrown,
  kGrownAligned,
  kGrownArray,
  kGrownZeroed,
  kNewN,
  kNewRealloc,
  kNewReallocn,
  kNewIn,
  kNewArrayIn,
  kPlain,
  kMemalign,
  kPosix,
  kNothrow,
  kPages,
  kSites
};
Site g_sites[kSites] = {{"site_malloc"},         {"site_zalloc"},       {"site_small"},
                        {"site_calloc"},         {"site_mallocn"},      {"site_aligned"},
                        {"site_aligned_calloc"}, {"site_grown"},        {"site_grown_aligned"},
                        {"site_grown_array"},    {"site_grown_zeroed"}, {"site_new_n"},
                        {"site_new_realloc"},    {"site_new_reallocn"}, {"site_new_in"},
                        {"site_new_array_in"},   {"site_plain"},        {"site_memalign"},
                        {"site_posix"},          {"site_nothrow"},      {"site_pages"}};

#define STAY(value) asm volatile("" : : "r"(value) : "memory")
#define SITE extern "C" __attribute__((noipa)) void*

void* g_library;
template <class Function>
Function* find(const char* name) {
  void* found = dlsym(g_library, name);
  if (found == nullptr) {
    std::fprintf(stderr, "mimalloc_heaps: no %s\n", name);
    std::exit(2);
  }
  return reinterpret_cast<Function*>(found);
}

using Size = std::size_t;
#define CALLS(site, name, arguments, values)              \
  SITE site arguments {                                   \
    static auto* function = find<void * arguments>(name); \
    void* result = function values;                       \
    STAY(result);                                         \
    return result;                                        \
  }
CALLS(site_malloc, "mi_heap_malloc", (void* heap, Size size), (heap, size))
CALLS(site_zalloc, "mi_heap_zalloc", (void* heap, Size size), (heap, size))
CALLS(site_small, "mi_heap_malloc_small", (void* heap, Size size), (heap, size))
CALLS(site_calloc, "mi_heap_calloc", (void* heap, Size count, Size size), (heap, count, size))
CALLS(site_mallocn, "mi_heap_mallocn", (void* heap, Size count, Size size), (heap, count, size))
CALLS(site_aligned, "mi_heap_malloc_aligned", (void* heap, Size size, Size to), (heap, size, to))
CALLS(site_aligned_calloc, "mi_heap_calloc_aligned", (void* heap, Size count, Size size, Size to),
      (heap, count, size, to))
CALLS(site_grown, "mi_heap_realloc", (void* heap, void* block, Size size), (heap, block, size))
CALLS(site_grown_aligned, "mi_heap_realloc_aligned", (void* heap, void* block, Size size, Size to),
      (heap, block, size, to))
CALLS(site_grown_array, "mi_heap_reallocn", (void* heap, void* block, Size count, Size size),
      (heap, block, count, size))
CALLS(site_grown_zeroed, "mi_heap_recalloc", (void* heap, void* block, Size count, Size size),
      (heap, block, count, size))
CALLS(site_new_n, "mi_new_n", (Size count, Size size), (count, size))
CALLS(site_new_realloc, "mi_new_realloc", (void* block, Size size), (block, size))
CALLS(site_new_reallocn, "mi_new_reallocn", (void* block, Size count, Size size), (block, count, size))
CALLS(site_new_in, "mi_heap_alloc_new", (void* heap, Size size), (heap, size))
CALLS(site_new_array_in, "mi_heap_alloc_new_n", (void* heap, Size count, Size size), (heap, count, size))
CALLS(site_plain, "mi_malloc", (Size size), (size))
CALLS(site_memalign, "mi_memalign", (Size to, Size size), (to, size))
CALLS(site_nothrow, "mi_new_aligned_nothrow", (Size size, Size to), (size, to))
CALLS(site_pages, "mi_pvalloc", (Size size), (size))
SITE site_posix(Size to, Size size) {
  static auto* function = find<int(void**, Size, Size)>("mi_posix_memalign");
  void* block = nullptr;
  if (function(&block, to, size) != 0) std::exit(3);
  STAY(block);
  return block;
}

struct Block {
  void* at;
  int site;
  Size size;
};
Block taken(void* at, int site, Size size) {
  if (at == nullptr) std::exit(3);
  ++g_sites[site].calls;
  g_sites[site].bytes += size;
  return {at, site, size};
}
void gone(const Block& block) {
  ++g_sites[block.site].gone_calls;
  g_sites[block.site].gone_bytes += block.size;
}

void round(void* heap, int number) {
  const Size small = 24 + static_cast<Size>(number % 50) * 8,
             large = 3000 + static_cast<Size>(number % 7) * 5000;
  const auto release = find<void(void*)>("mi_free");
  Block blocks[] = {
      taken(site_malloc(heap, small), kMalloc, small),
      taken(site_malloc(heap, large), kMalloc, large),
      taken(site_zalloc(heap, small), kZalloc, small),
      taken(site_small(heap, 40), kSmall, 40),
      taken(site_calloc(heap, 3, small), kCalloc, 3 * small),
      taken(site_mallocn(heap, 2, large), kMallocn, 2 * large),
      taken(site_aligned(heap, small, 64), kAligned, small),
      taken(site_aligned(heap, 64, 64), kAligned, 64),
      taken(site_aligned(heap, large, 4096), kAligned, large),
      taken(site_aligned_calloc(heap, 5, 100, 128), kAlignedCalloc, 500),
      taken(site_new_n(7, small), kNewN, 7 * small),
      taken(site_new_in(heap, small), kNewIn, small),
      taken(site_new_array_in(heap, 4, small), kNewArrayIn, 4 * small),
      taken(site_plain(small), kPlain, small),
      taken(site_memalign(256, small), kMemalign, small),
      taken(site_posix(512, small), kPosix, small),
      taken(site_nothrow(small, 64), kNothrow, small),
      taken(site_pages(small), kPages, 4096),  // it requests a whole page from the allocator
  };
  const auto grow = [&](Block& block, void* at, int site, Size size) {
    gone(block);
    block = taken(at, site, size);
  };
  grow(blocks[0], site_grown(heap, blocks[0].at, large), kGrown, large);
  grow(blocks[2], site_grown_aligned(heap, blocks[2].at, large, 256), kGrownAligned, large);
  grow(blocks[3], site_grown_array(heap, blocks[3].at, 10, 33), kGrownArray, 330);
  grow(blocks[4], site_grown_zeroed(heap, blocks[4].at, 9, large), kGrownZeroed, 9 * large);
  grow(blocks[10], site_new_realloc(blocks[10].at, 5000), kNewRealloc, 5000);
  grow(blocks[13], site_new_reallocn(blocks[13].at, 11, 64), kNewReallocn, 704);
  // Every third round keeps half of them.
  for (Size i = 0; i < std::size(blocks); ++i) {
    if (number % 3 == 0 && i % 2 == 0) continue;
    release(blocks[i].at);
    gone(blocks[i]);
  }
}

void print(const char* key, unsigned long long (*value)(const Site&), const char* end) {
  std::printf("\"%s\": {", key);
  for (int i = 0; i < kSites; ++i)
    std::printf("%s\"%s\": %llu", i == 0 ? "" : ", ", g_sites[i].name, value(g_sites[i]));
  std::printf("}%s", end);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  g_library = dlopen(argv[1], RTLD_NOW);
  if (g_library == nullptr) {
    std::fprintf(stderr, "mimalloc_heaps: %s\n", dlerror());
    return 2;
  }
  while (argc > 3 && access(argv[3], F_OK) != 0) usleep(1000);
  for (int i = 0; i < std::atoi(argv[2]); ++i) {
    void* heap = find<void*()>("mi_heap_new")();
    round(heap, i);
    find<void(void*)>("mi_heap_delete")(heap);
  }
  std::printf("{");
  print(
      "calls", [](const Site& site) { return site.calls; }, ", ");
  print(
      "bytes", [](const Site& site) { return site.bytes; }, ", ");
  print(
      "live_calls", [](const Site& site) { return site.calls - site.gone_calls; }, ", ");
  print(
      "live_bytes", [](const Site& site) { return site.bytes - site.gone_bytes; }, "}\n");
}
