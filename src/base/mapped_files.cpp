#include "base/mapped_files.h"

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>

namespace fathom {
namespace {

constexpr std::size_t kMostFiles = 16'384;

// Without locks, as a signal handler reads them. A place is free while its start is 0.
struct Place {
  std::atomic<std::uintptr_t> start{0};
  std::atomic<std::size_t> size{0};
};
std::array<Place, kMostFiles> places;
std::atomic<std::size_t> used_places{0};  // those from here on were never taken
std::atomic<std::uint64_t> replaced{0};

std::uintptr_t number(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address);
}

}  // namespace

void note_mapped_file(const void* start, std::size_t size) noexcept {
  for (std::size_t i = 0; i < kMostFiles; ++i) {
    std::uintptr_t free = 0;
    if (!places[i].start.compare_exchange_strong(free, number(start))) continue;
    places[i].size = size;
    std::size_t used = used_places;
    while (used < i + 1 && !used_places.compare_exchange_weak(used, i + 1)) {
    }
    return;
  }
}

void forget_mapped_file(const void* start) noexcept {
  const std::size_t used = used_places;
  for (std::size_t i = 0; i < used; ++i) {
    if (places[i].start != number(start)) continue;
    places[i].size = 0;
    places[i].start = 0;
    return;
  }
}

bool replace_lost_page(const void* address) noexcept {
  const std::size_t used = used_places;
  for (std::size_t i = 0; i < used; ++i) {
    const std::uintptr_t start = places[i].start;
    if (start == 0 || number(address) - start >= places[i].size) continue;
    const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    void* const at = reinterpret_cast<void*>(number(address) & ~(page - 1));
    if (::mmap(at, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != at) return false;
    ++replaced;
    return true;
  }
  return false;
}

std::uint64_t lost_pages() noexcept {
  return replaced;
}

}  // namespace fathom
