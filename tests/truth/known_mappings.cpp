// Maps and unmaps address space at known places, and counts it to the byte. Usage:
//   known_mappings ROUNDS [FILE]     with FILE it begins when that file exists, for attaching
// Prints its answer as JSON: for each place the calls that mapped memory, their bytes, the bytes still
// mapped, and the calls and bytes of madvise that returned memory without unmapping it.
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <iterator>

namespace {

constexpr std::size_t kPage = 4096;

struct Site {
  const char* name;
  unsigned long long calls = 0, bytes = 0, gone_calls = 0, gone_bytes = 0, returned_calls = 0,
                     returned_bytes = 0;
  void take(std::size_t taken) {
    ++calls;
    bytes += taken;
  }
  void give_back(std::size_t given) {
    ++returned_calls;
    returned_bytes += given;
  }
};
Site g_kept{"site_kept"}, g_gone{"site_gone"}, g_holed{"site_holed"}, g_grown{"site_grown"},
    g_growing{"site_growing"}, g_shared{"site_shared"}, g_unneeded{"site_unneeded"}, g_lazy{"site_lazy"},
    g_paged_out{"site_paged_out"}, g_removed{"site_removed"}, g_only_advice{"site_only_advice"};
Site* const g_sites[] = {&g_kept,     &g_gone, &g_holed,     &g_grown,   &g_growing,    &g_shared,
                         &g_unneeded, &g_lazy, &g_paged_out, &g_removed, &g_only_advice};

#define STAY(value) asm volatile("" : : "r"(value) : "memory")
#define SITE extern "C" __attribute__((noipa))

[[noreturn]] void give_up(const char* what) {
  std::perror(what);
  std::exit(1);
}
char* check(void* start) {
  if (start == MAP_FAILED) give_up("mmap");
  return static_cast<char*>(start);
}

#define MAPS(site, sharing)                                                                            \
  SITE char* site(std::size_t bytes) {                                                                 \
    char* start = check(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, sharing | MAP_ANONYMOUS, -1, 0)); \
    STAY(start);                                                                                       \
    return start;                                                                                      \
  }
MAPS(site_kept, MAP_PRIVATE)
MAPS(site_gone, MAP_PRIVATE)
MAPS(site_holed, MAP_PRIVATE)
MAPS(site_grown, MAP_PRIVATE)
MAPS(site_shared, MAP_SHARED)

SITE char* site_growing(char* start, std::size_t from, std::size_t to) {
  char* moved = check(mremap(start, from, to, MREMAP_MAYMOVE));
  STAY(moved);
  return moved;
}

#define ADVISES(site, advice)                                   \
  SITE void site(char* start, std::size_t bytes) {              \
    if (madvise(start, bytes, advice) != 0) give_up("madvise"); \
    STAY(start);                                                \
  }
ADVISES(site_unneeded, MADV_DONTNEED)
ADVISES(site_lazy, MADV_FREE)
ADVISES(site_paged_out, MADV_PAGEOUT)
ADVISES(site_removed, MADV_REMOVE)

// Advice that returns no memory, and a call that fails: none of them counts.
SITE void site_only_advice(char* start, std::size_t bytes) {
  if (madvise(start, bytes, MADV_WILLNEED) != 0) give_up("madvise");
  if (madvise(start + 1, bytes, MADV_DONTNEED) == 0) std::exit(2);
  STAY(start);
}

// The C library returns pages automatically, and does not report how many.
SITE void site_trimming() {
  constexpr std::size_t kBlocks = 512, kBytes = 40'000;
  static char* blocks[kBlocks];
  for (char*& block : blocks) {
    block = static_cast<char*>(std::malloc(kBytes));
    for (std::size_t i = 0; i < kBytes; i += kPage) static_cast<volatile char*>(block)[i] = 1;
  }
  for (std::size_t i = 0; i < kBlocks; i += 2) std::free(blocks[i]);
  malloc_trim(0);
  for (std::size_t i = 1; i < kBlocks; i += 2) std::free(blocks[i]);
}

void round() {
  char* kept = site_kept(64 * kPage);
  g_kept.take(64 * kPage);
  for (std::size_t i = 0; i < 64; ++i) kept[i * kPage] = 1;
  site_unneeded(kept + 8 * kPage, 8 * kPage);
  g_unneeded.give_back(8 * kPage);
  site_unneeded(kept + 20 * kPage, 100);  // the kernel rounds to whole pages
  g_unneeded.give_back(kPage);
  site_lazy(kept + 32 * kPage, 16 * kPage);
  g_lazy.give_back(16 * kPage);
  site_paged_out(kept, 4 * kPage);
  g_paged_out.give_back(4 * kPage);
  site_only_advice(kept, 8 * kPage);

  char* gone = site_gone(16 * kPage);
  g_gone.take(16 * kPage);
  site_unneeded(gone, 16 * kPage);
  g_unneeded.give_back(16 * kPage);
  munmap(gone, 16 * kPage);
  ++g_gone.gone_calls;
  g_gone.gone_bytes += 16 * kPage;

  char* holed = site_holed(12 * kPage);
  g_holed.take(12 * kPage);
  munmap(holed + 4 * kPage, 2 * kPage);
  g_holed.gone_bytes += 2 * kPage;

  char* grown = site_grown(8 * kPage);
  g_grown.take(8 * kPage);
  site_growing(grown, 8 * kPage, 20 * kPage);
  g_growing.take(12 * kPage);

  char* shared = site_shared(8 * kPage);
  g_shared.take(8 * kPage);
  for (std::size_t i = 0; i < 8; ++i) shared[i * kPage] = 1;
  site_removed(shared, 8 * kPage);
  g_removed.give_back(8 * kPage);
}

void print(const char* key, unsigned long long (*value)(const Site&), const char* end) {
  std::printf("\"%s\": {", key);
  for (std::size_t i = 0; i < std::size(g_sites); ++i)
    std::printf("%s\"%s\": %llu", i == 0 ? "" : ", ", g_sites[i]->name, value(*g_sites[i]));
  std::printf("}%s", end);
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 10;
  while (argc > 2 && access(argv[2], F_OK) != 0) usleep(1000);
  for (int i = 0; i < rounds; ++i) round();
  site_trimming();
  std::printf("{");
  print(
      "calls", [](const Site& site) { return site.calls; }, ", ");
  print(
      "bytes", [](const Site& site) { return site.bytes; }, ", ");
  print(
      "live_calls", [](const Site& site) { return site.calls - site.gone_calls; }, ", ");
  print(
      "live_bytes", [](const Site& site) { return site.bytes - site.gone_bytes; }, ", ");
  print(
      "returned_calls", [](const Site& site) { return site.returned_calls; }, ", ");
  print(
      "returned_bytes", [](const Site& site) { return site.returned_bytes; }, "}\n");
}
