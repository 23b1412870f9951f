// An ordinary busy program: THREADS threads that allocate, fill and free blocks of many sizes from several
// places each, and nothing else:
//   many_allocators THREADS
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

template <int N>
[[gnu::noinline]] std::unique_ptr<char[]> make(std::size_t size, int depth) {
  if (depth > 0) {
    auto made = make<(N * 7 + 3) % 31>(size, depth - 1);
    asm volatile("" ::: "memory");
    return made;
  }
  auto block = std::make_unique<char[]>(size);
  memset(block.get(), N, size < 64 ? size : 64);
  return block;
}

void work(std::uint64_t random) {
  std::vector<std::unique_ptr<char[]>> kept(512);
  for (;;) {
    random = random * 6364136223846793005ull + 1442695040888963407ull;
    const auto place = static_cast<std::size_t>(random >> 33) % kept.size();
    const auto size = static_cast<std::size_t>(random >> 20 & 0xfff) + 16;
    const int depth = static_cast<int>(random >> 50 & 7);
    kept[place] = random >> 60 & 1 ? make<1>(size, depth) : make<2>(size, depth);
  }
}

}  // namespace

int main(int count, char** arguments) {
  const int threads = count > 1 ? atoi(arguments[1]) : 50;
  for (int i = 0; i < threads; ++i) std::thread(work, static_cast<std::uint64_t>(i) + 1).detach();
  puts("ready");
  fflush(stdout);
  pause();
}
