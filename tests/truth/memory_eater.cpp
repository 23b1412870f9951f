// Allocates and touches a number of MiB (first argument, at most 512), 64 KiB at a time, at most at 1 GiB/s,
// and keeps them: a leak with one call site. Its exit status is the second argument, 0 by default. With
// "flat" as the third it maps all of it at once and then touches it, without a system call that could fail
// when memory runs out.
#include <sys/mman.h>
#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

constexpr int kBlock = 64 * 1024, kBlocksOfAMiB = 16, kMostMiB = 512;
std::vector<char*> g_index;

__attribute__((noipa)) void insert_into_index() {
  char* block = static_cast<char*>(std::malloc(kBlock));
  if (block == nullptr) std::exit(9);
  std::memset(block, 1, kBlock);
  g_index.push_back(block);
}

__attribute__((noipa)) void handle_request() {
  insert_into_index();
  asm volatile("");  // a call, not a jump
}

void touch_all(std::size_t bytes) {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) std::exit(9);
  std::memset(memory, 1, bytes);
}

}  // namespace

int main(int argc, char** argv) {
  const int mib = argc > 1 ? std::min(std::atoi(argv[1]), kMostMiB) : 0;
  if (argc > 3) touch_all(static_cast<std::size_t>(mib) << 20);
  for (int i = 0; i < mib && argc <= 3; ++i) {
    for (int j = 0; j < kBlocksOfAMiB; ++j) handle_request();
    const timespec pause{0, 1'000'000};
    ::nanosleep(&pause, nullptr);
  }
  return argc > 2 ? std::atoi(argv[2]) : 0;
}
