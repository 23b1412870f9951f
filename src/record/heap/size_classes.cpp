#include "record/heap/size_classes.h"

#include <algorithm>
#include <bit>
#include <vector>

namespace fathom::sources::heap {
namespace {

constexpr std::uint64_t kClassPage = 4096;
constexpr std::uint64_t kMost = std::uint64_t{1}
                                << 47;  // no block is larger; keeps sums from wrapping around

constexpr std::uint64_t up_to(std::uint64_t size, std::uint64_t step) {
  return (size + step - 1) / step * step;
}

// A word for the size stands before the block, and chunks are multiples of 16, at least 32.
std::uint64_t glibc_size(std::uint64_t size) {
  return std::max<std::uint64_t>(32, up_to(size + 8, 16)) - 8;
}

// 8, multiples of 16 up to 128, then four steps for each doubling. `size` is not 0.
std::uint64_t four_per_doubling(std::uint64_t size) {
  if (size <= 8) return 8;
  if (size <= 128) return up_to(size, 16);
  return up_to(size, std::bit_floor(size - 1) / 4);
}

std::uint64_t mimalloc_size(std::uint64_t size) {
  constexpr std::uint64_t kLargestBin = 128 * 1024;  // of a medium page; larger ones have pages of their own
  const std::uint64_t rounded = four_per_doubling(std::max<std::uint64_t>(size, 1));
  return size <= kLargestBin ? rounded : up_to(size, kClassPage);
}

// The classes follow from how many blocks fit into a run of pages.
class TcmallocClasses {
 public:
  TcmallocClasses() {
    std::uint64_t last_pages = 0;
    for (std::uint64_t size = kLeast; size <= kLargest; size += alignment_of(size)) {
      const std::uint64_t pages = pages_of(size);
      if (!sizes_.empty() && pages == last_pages && pages * kRun / size == pages * kRun / sizes_.back())
        sizes_.back() = size;  // as many of the larger ones fit, so the smaller ones gain nothing
      else
        sizes_.push_back(size);
      last_pages = pages;
    }
  }
  std::uint64_t round(std::uint64_t size) const {
    if (size > kLargest) return up_to(size, kRun);
    return *std::lower_bound(sizes_.begin(), sizes_.end(), size);
  }

 private:
  static constexpr std::uint64_t kLeast = 8, kLargest = 256 * 1024, kRun = 8192;

  static std::uint64_t alignment_of(std::uint64_t size) {
    if (size >= 128) return std::min(std::bit_floor(size) / 8, kRun);
    return size >= 16 ? 16 : kLeast;
  }
  // A quarter of what moves between the caches at once, and not more than an eighth left over.
  static std::uint64_t pages_of(std::uint64_t size) {
    const std::uint64_t moved = std::clamp<std::uint64_t>(64 * 1024 / size, 2, 32) / 4;
    std::uint64_t bytes = 0;
    do {
      bytes += kRun;
      while (bytes % size > bytes >> 3) bytes += kRun;
    } while (bytes / size < moved);
    return bytes / kRun;
  }

  std::vector<std::uint64_t> sizes_;
};

std::uint64_t tcmalloc_size(std::uint64_t size) {
  static const TcmallocClasses classes;
  return classes.round(std::max<std::uint64_t>(size, 1));
}

}  // namespace

SizeRule size_rule(std::string_view label) {
  const auto is = [&](std::string_view name) { return label.starts_with(name); };
  if (is("glibc")) return SizeRule::kGlibc;
  if (is("jemalloc 3.") || is("jemalloc 2.") || is("jemalloc 1.")) return SizeRule::kUnknown;
  if (is("jemalloc")) return SizeRule::kJemalloc;
  if (is("mimalloc")) return SizeRule::kMimalloc;
  // Without a version it may be the other tcmalloc, whose classes come from tables.
  if (is("tcmalloc ")) return SizeRule::kTcmalloc;
  return SizeRule::kUnknown;
}

std::uint64_t usable_size(SizeRule rule, std::uint64_t size) {
  size = std::min(size, kMost);
  switch (rule) {
    case SizeRule::kGlibc:
      return glibc_size(size);
    case SizeRule::kJemalloc:
      return four_per_doubling(std::max<std::uint64_t>(size, 1));
    case SizeRule::kMimalloc:
      return mimalloc_size(size);
    case SizeRule::kTcmalloc:
      return tcmalloc_size(size);
    case SizeRule::kUnknown:
      break;
  }
  return 0;
}

bool is_same_class(SizeRule rule, std::uint64_t asked, std::uint64_t claimed) {
  return asked == claimed ||
         (rule != SizeRule::kUnknown && usable_size(rule, asked) == usable_size(rule, claimed));
}

}  // namespace fathom::sources::heap
