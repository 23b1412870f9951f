// An allocator that trusts every free: its own blocks are never reused, so one can be freed twice or with any
// size, and it passes foreign ones to libc.
#include <atomic>
#include <cstddef>

extern "C" void __libc_free(void* block);  // NOLINT(bugprone-reserved-identifier): glibc's own name

namespace {

alignas(16) char g_pool[1 << 20];
std::atomic<std::size_t> g_used{0};

bool is_own(const void* block) {
  return block >= static_cast<const void*>(g_pool) &&
         block < static_cast<const void*>(g_pool + sizeof g_pool);
}
void give_back(void* block) {
  if (block != nullptr && !is_own(block)) __libc_free(block);
}

}  // namespace

#define EXPORTED extern "C" __attribute__((visibility("default"), noipa))

EXPORTED void* malloc(std::size_t size) {
  const std::size_t at = g_used.fetch_add((size + 15) / 16 * 16);
  return at + size <= sizeof g_pool ? g_pool + at : nullptr;
}
EXPORTED void free(void* block) {
  give_back(block);
}
EXPORTED void free_sized(void* block, std::size_t) {
  give_back(block);  // not `free`, which would be libc's
}
