// A program with its own allocator. The build strips it: `malloc` and `free` are exported, as a shared
// library might need them, and the function with which the program frees is not. It holds 8 MiB for a number
// of seconds (first argument), creates a file once it does (second argument), and holds nothing at the end.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>

namespace {

// Not of 64 MiB: if such a mapping happens to be aligned to its size, it looks like an arena of glibc.
constexpr std::size_t kPool = 24u << 20, kBlock = 4096, kBlocks = 2048;
char* g_pool = nullptr;
std::size_t g_used = 0;
void* g_free[2 * kBlocks];
std::size_t g_free_count = 0;

}  // namespace

// Blocks of one size only, enough for this program and its C++ library.
extern "C" __attribute__((visibility("default"), noipa)) void* malloc(std::size_t size) {
  if (g_pool == nullptr) {
    void* pool = ::mmap(nullptr, kPool, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pool == MAP_FAILED) return nullptr;
    g_pool = static_cast<char*>(pool);
  }
  if (size == kBlock && g_free_count != 0) return g_free[--g_free_count];
  const std::size_t bytes = (size + 15) / 16 * 16;
  if (g_used + bytes > kPool) return nullptr;
  char* block = g_pool + g_used;
  g_used += bytes;
  return block;
}
extern "C" __attribute__((visibility("default"), noipa)) void free(void*) {}
extern "C" __attribute__((visibility("hidden"), noipa)) void give_back(void* block, std::size_t size) {
  if (size == kBlock && g_free_count < 2 * kBlocks) g_free[g_free_count++] = block;
}

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 0.5;
  void* blocks[kBlocks];
  for (int round = 0; round < 20; ++round) {
    for (void*& block : blocks) {
      block = malloc(kBlock);
      if (block == nullptr) return 1;
      static_cast<volatile char*>(block)[0] = 1;
    }
    if (round == 10) {
      if (argc > 2) (void)::close(::creat(argv[2], 0600));
      ::usleep(static_cast<useconds_t>(seconds * 1e6));
    }
    for (void* block : blocks) give_back(block, kBlock);
  }
  const char text[] = "done\n";
  return ::write(1, text, sizeof text - 1) < 0 ? 1 : 0;
}
