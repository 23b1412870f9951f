// Memory for tables of many megabytes that are read at random: on huge pages, where the system gives them.
// With pages of 4 KiB most of the time of such a read goes into finding the page (94 ns against 44 ns each,
// in 8 MiB, 2026-11 on a virtual machine).
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <new>

namespace fathom::sources::heap {

inline constexpr std::size_t kHugePage = std::size_t{2} << 20;

// For std::vector. Small ones live where everything lives.
template <class T>
struct HugePages {
  using value_type = T;
  HugePages() = default;
  template <class Other>
  HugePages(const HugePages<Other>&) {}

  T* allocate(std::size_t count) {
    if (!is_large(count))
      return static_cast<T*>(::operator new (count * sizeof(T), std::align_val_t{alignof(T)}));
    const std::size_t bytes = rounded(count);
    void* memory = ::operator new (bytes, std::align_val_t{kHugePage});
    ::madvise(memory, bytes, MADV_HUGEPAGE);  // refused: it works without, only slower
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t count) {
    if (!is_large(count))
      ::operator delete (memory, std::align_val_t{alignof(T)});
    else
      ::operator delete (memory, std::align_val_t{kHugePage});
  }
  bool operator==(const HugePages&) const = default;

 private:
  // Half of one is enough: the rest is there for growing.
  static bool is_large(std::size_t count) { return count * sizeof(T) >= kHugePage / 2; }
  static std::size_t rounded(std::size_t count) {
    return (count * sizeof(T) + kHugePage - 1) / kHugePage * kHugePage;
  }
};

}  // namespace fathom::sources::heap
