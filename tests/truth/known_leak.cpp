// Leaks at a known rate at a known place, and counts every block to the byte in a file that outlives it.
// Usage:
//   known_leak MB_PER_SECOND CACHE_MB MOST_MB BOOK [FILE]    with FILE it begins when that file exists
// BOOK: four 64-bit numbers, bytes and blocks of insert_into_index, then of block_cache. It stops leaking at
// MOST_MB, and waits up to a minute to be killed.
#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace {

constexpr std::size_t kBlock = 64 * 1024, kCacheBlock = 1 << 20;
volatile std::uint64_t* g_book;

void book(int row, std::size_t bytes) {
  g_book[row] = g_book[row] + bytes;
  g_book[row + 1] = g_book[row + 1] + 1;
}

// The compiler must not see that the block is never read.
void touch(void* block, std::size_t bytes) {
  std::memset(block, 1, bytes);
  asm volatile("" : : "r"(block) : "memory");
}

void wait_ns(long ns) {
  const timespec pause{ns / 1'000'000'000, ns % 1'000'000'000};
  ::nanosleep(&pause, nullptr);
}

double now() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

}  // namespace

// Counted after the allocator returned it, and before its pages are touched: there the kernel kills.
extern "C" __attribute__((noipa)) void insert_into_index() {
  void* block = std::malloc(kBlock);
  if (block == nullptr) std::exit(9);
  book(0, kBlock);
  touch(block, kBlock);
}

extern "C" __attribute__((noipa)) void block_cache() {
  void* block = std::malloc(kCacheBlock);
  if (block == nullptr) std::exit(9);
  book(2, kCacheBlock);
  touch(block, kCacheBlock);
}

extern "C" __attribute__((noipa)) void handle_request() {
  void* request = std::malloc(1000);
  asm volatile("" : : "r"(request) : "memory");
  std::free(request);
  insert_into_index();
  asm volatile("");  // a call, not a jump
}

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  const double rate = std::atof(argv[1]) * 1e6, most = std::atof(argv[3]) * 1e6;
  const int file = ::open(argv[4], O_RDWR | O_CREAT | O_TRUNC, 0600);
  if (file < 0 || ::ftruncate(file, 4096) != 0) return 2;
  void* page = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (page == MAP_FAILED) return 2;
  g_book = static_cast<std::uint64_t*>(page);
  g_book[0] = 0;
  while (argc > 5 && ::access(argv[5], F_OK) != 0) wait_ns(1'000'000);
  for (int i = 0; i < std::atoi(argv[2]); ++i) block_cache();
  const double start = now();
  for (double done = 0; done < most; done += kBlock) {
    handle_request();
    const double ahead = start + done / rate - now();
    if (ahead > 0.001) wait_ns(static_cast<long>(ahead * 1e9));
  }
  ::sleep(60);
  return 0;
}
