// Uses memory of every kind in known amounts and prints how much of each is resident. Usage:
//   known_memory SECONDS [FILE]     with FILE it begins when that file exists, for attaching
// Prints its answer as JSON once all of it is allocated, and keeps it for SECONDS.
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

constexpr std::size_t kKiB = 1024, kMiB = 1024 * kKiB;
constexpr std::size_t kPage = 4096;
constexpr std::size_t kBssBytes = 10 * kMiB;
constexpr std::size_t kStackBytes = 512 * kKiB;
constexpr int kThreads = 4;

char g_zeroed[kBssBytes];

#define STAY(block) asm volatile("" : : "r"(block) : "memory")
#define SITE extern "C" __attribute__((noipa))

void touch(void* start, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; i += kPage) static_cast<volatile char*>(start)[i] = 1;
  if (bytes != 0) static_cast<volatile char*>(start)[bytes - 1] = 1;
}

SITE void* site_small(std::size_t size) {
  void* block = std::malloc(size);
  touch(block, size);
  STAY(block);
  return block;
}
SITE void* site_large(std::size_t size) {
  void* block = std::malloc(size);
  touch(block, size);
  STAY(block);
  return block;
}
SITE void* site_untouched(std::size_t size) {
  void* block = std::calloc(1, size);
  STAY(block);
  return block;
}
SITE void* site_passing(std::size_t size) {
  void* block = std::malloc(size);
  touch(block, size);
  STAY(block);
  return block;
}
SITE void* site_mapped(std::size_t size) {
  void* start = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  STAY(start);
  return start;
}

pthread_barrier_t g_deep;

void* waits_deep_down(void*) {
  char* frame = static_cast<char*>(__builtin_alloca(kStackBytes));
  touch(frame, kStackBytes);
  pthread_barrier_wait(&g_deep);
  for (;;) ::pause();
}

void* check(void* start) {
  if (start != MAP_FAILED && start != nullptr) return start;
  std::perror("known_memory");
  std::exit(1);
}

std::uint64_t rollup(const char* field) {
  std::FILE* file = std::fopen("/proc/self/smaps_rollup", "r");
  if (file == nullptr) return 0;
  char line[256];
  std::uint64_t kilobytes = 0;
  while (std::fgets(line, sizeof(line), file) != nullptr)
    if (std::strncmp(line, field, std::strlen(field)) == 0)
      kilobytes = std::strtoull(line + std::strlen(field), nullptr, 10);
  std::fclose(file);
  return kilobytes * kKiB;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  ::prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);  // otherwise half of a mapping may become all of it
  if (argc > 2)
    while (::access(argv[2], F_OK) != 0) ::usleep(10'000);

  constexpr std::size_t kSmall = 500, kSmallBlocks = 40'000, kLarge = kMiB, kLargeBlocks = 20;
  for (std::size_t i = 0; i < kSmallBlocks; ++i) site_small(kSmall);
  for (std::size_t i = 0; i < kLargeBlocks; ++i) site_large(kLarge);
  constexpr std::size_t kUntouched = 64 * kMiB;
  site_untouched(kUntouched);

  // Freed, and kept by the allocator, because a block above it is live.
  constexpr std::size_t kPassing = 4000, kPassingBlocks = 8000;
  std::vector<void*> passing(kPassingBlocks);
  for (void*& block : passing) block = site_passing(kPassing);
  site_small(kSmall);
  for (void* block : passing) std::free(block);

  constexpr std::size_t kMapped = 48 * kMiB;
  touch(check(site_mapped(kMapped)), kMapped / 2);

  pthread_barrier_init(&g_deep, nullptr, kThreads + 1);
  for (int i = 0; i < kThreads; ++i) {
    pthread_t thread;
    pthread_create(&thread, nullptr, waits_deep_down, nullptr);
  }
  pthread_barrier_wait(&g_deep);
  touch(g_zeroed, kBssBytes);

  constexpr std::size_t kFile = 12 * kMiB, kChanged = 4 * kMiB;
  char path[] = "/tmp/known_memory_XXXXXX";
  const int fd = ::mkstemp(path);
  const std::vector<char> content(kMiB, 'x');
  for (std::size_t i = 0; i < kFile; i += content.size())
    if (::write(fd, content.data(), content.size()) != static_cast<ssize_t>(content.size())) return 1;
  const auto* mapped_file =
      static_cast<volatile char*>(check(::mmap(nullptr, kFile, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0)));
  char sum = 0;
  for (std::size_t i = 0; i < kFile; i += kPage) sum = static_cast<char>(sum + mapped_file[i]);
  touch(check(::mmap(nullptr, kChanged, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0)), kChanged / 2);
  constexpr std::size_t kShared = 6 * kMiB;
  touch(check(::mmap(nullptr, kShared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)), kShared);

  const std::size_t vector_bytes = kPassingBlocks * sizeof(void*) + kMiB;  // `passing` and `content`
  const std::size_t live = (kSmallBlocks + 1) * kSmall + kLargeBlocks * kLarge + vector_bytes;
  std::printf(
      "{\"live_resident\": %zu, \"live\": %zu, \"freed_and_kept\": %zu, \"mapped\": %zu, "
      "\"thread_stacks\": %zu, \"bss\": %zu, \"file\": %zu, \"file_changed\": %zu, \"shared\": %zu, "
      "\"rss\": %llu, \"anonymous\": %llu}\n",
      live, live + kUntouched, kPassing * kPassingBlocks, kMapped / 2, kThreads * kStackBytes, kBssBytes,
      kFile, kChanged / 2, kShared, static_cast<unsigned long long>(rollup("Rss:")),
      static_cast<unsigned long long>(rollup("Anonymous:")));
  std::fflush(stdout);
  ::unlink(path);
  ::usleep(static_cast<useconds_t>(std::strtod(argv[1], nullptr) * 1e6));
  ::_exit(0);
}
