#include "base/huge_pages.h"

#include <malloc.h>
#include <sys/mman.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

#include "base/sanitized.h"

#if FATHOM_ADDRESS_SANITIZER || FATHOM_THREAD_SANITIZER

void fathom::use_huge_pages() noexcept {}

#else

namespace {

constexpr std::size_t kHuge = std::size_t{2} << 20, kLarge = 2 * kHuge;
constinit std::atomic<bool> wanted = false;

// nullptr: the ordinary way.
void* huge_block(std::size_t size) {
  if (size < kLarge || size > SIZE_MAX - kHuge || !wanted.load(std::memory_order_relaxed)) return nullptr;
  void* const block = std::aligned_alloc(kHuge, (size + kHuge - 1) / kHuge * kHuge);
  if (block != nullptr) (void)::madvise(block, size, MADV_HUGEPAGE);  // a wish: without it pages are small
  return block;
}

}  // namespace

void fathom::use_huge_pages() noexcept {
  // What is freed goes back to the kernel at once. By default glibc keeps freed blocks of up to 32 MiB, which large pages seldom fit.
  (void)::mallopt(M_MMAP_THRESHOLD, kLarge);
  wanted.store(true, std::memory_order_relaxed);
}

// [new.delete.single]: replaced for the whole program. What it gives is free()'s, as is that of the one it replaces.
void* operator new(std::size_t size) {
  if (void* const block = huge_block(size)) return block;
  for (;;) {
    if (void* const block = std::malloc(size == 0 ? 1 : size)) return block;
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) throw std::bad_alloc();
    handler();
  }
}

#endif
