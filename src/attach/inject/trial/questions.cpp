#include "attach/inject/trial/questions.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "base/files.h"

namespace fathom::inject {

bool is_aligned_alloc(Bench& bench, ElfAddress function) {
  for (const std::uint64_t alignment : {64, 256, 4096, 16384})
    for (int i = 0; i < 3; ++i) {
      const auto block = bench.call(function, alignment, 100);
      if (!block || *block == 0 || *block % alignment != 0 || !bench.is_heap(*block)) return false;
      if (!bench.fill(*block, 100, 0xee)) return false;
    }
  return bench.call(function, 24, 100) == 0u;
}
bool is_posix_memalign(Bench& bench, ElfAddress function) {
  for (const std::uint64_t alignment : {64, 256, 4096, 16384}) {
    if (!bench.memory().put(bench.scratch(), std::uint64_t{0})) return false;
    const auto answer = bench.call(function, bench.scratch().value, alignment, 100);
    const auto block = bench.memory().get<std::uint64_t>(bench.scratch());
    if (!answer || static_cast<std::uint32_t>(*answer) != 0 || !block || *block == 0 ||
        *block % alignment != 0 || !bench.is_heap(*block))
      return false;
  }
  const auto answer = bench.call(function, bench.scratch().value, 24, 100);
  return answer && static_cast<std::uint32_t>(*answer) == EINVAL;
}
bool is_valloc(Bench& bench, ElfAddress function) {
  for (const std::uint64_t size : {1, 100, 5000, 20000})
    for (int i = 0; i < 3; ++i) {  // the first block of a class is at the start of a page anyway
      const auto block = bench.call(function, size);
      if (!block || *block == 0 || *block % 4096 != 0 || !bench.is_heap(*block)) return false;
    }
  return true;
}

namespace {

using allocators::nameless::Role;

// Sizes that go through a thread's cache: of small classes, and of a large one.
constexpr std::uint64_t kCachedSizes[] = {100, 2000, 20000};
constexpr std::uint64_t kZero = 0x40;  // MALLOCX_ZERO

// The most recently freed block is reused next.
bool frees(Bench& bench, ElfAddress function, std::uint64_t size, std::uint64_t second, std::uint64_t third) {
  const std::uint64_t block = bench.block(size);
  return block != 0 && bench.fill(block, 64, 0x77) && bench.call(function, block, second, third) &&
         bench.block(size) == block;
}
bool is_sdallocx(Bench& bench, ElfAddress function) {
  for (const std::uint64_t size : kCachedSizes)
    if (!frees(bench, function, size, size, 0)) return false;
  return true;
}
bool is_free(Bench& bench, ElfAddress function) {
  for (const std::uint64_t size : kCachedSizes)
    if (!frees(bench, function, size, 0, kJunk)) return false;
  // If the second argument is its own size, realloc keeps the block.
  return frees(bench, function, 100, 100, kJunk);
}
bool is_calloc(Bench& bench, ElfAddress function) {
  for (const std::uint64_t size : kCachedSizes) {
    const std::uint64_t block = bench.block(size);
    if (block == 0 || !bench.fill(block, size, 0xee) || !bench.release(block, size) ||
        bench.call(function, size / 50, 50) != block || !bench.is_filled(block, size, 0))
      return false;
  }
  return bench.call(function, std::uint64_t{1} << 33, std::uint64_t{1} << 33) == 0u;
}
bool is_mallocx(Bench& bench, ElfAddress function) {
  for (const unsigned shift : {6u, 8u, 12u, 14u})
    for (int i = 0; i < 3; ++i) {
      const auto block = bench.call(function, 100, shift);
      if (!block || *block == 0 || *block % (std::uint64_t{1} << shift) != 0) return false;
    }
  const std::uint64_t block = bench.block(100);
  if (block == 0 || !bench.fill(block, 100, 0xee) || !bench.release(block, 100)) return false;
  if (bench.call(function, 100, 0) != block || !bench.is_filled(block + 16, 84, 0xee)) return false;
  return bench.release(block, 100) && bench.call(function, 100, kZero) == block &&
         bench.is_filled(block, 100, 0);
}
// Copies the content of the block, and frees it.
bool resizes(Bench& bench, ElfAddress function, std::uint64_t size, std::uint64_t third) {
  const std::uint64_t old = bench.block(100);
  if (old == 0 || !bench.fill(old, 100, 0x33)) return false;
  const auto moved = bench.call(function, old, size, third);
  return moved && *moved != 0 && *moved != old && bench.is_heap(*moved) &&
         bench.is_filled(*moved, 100, 0x33) && bench.block(100) == old;
}
bool is_realloc(Bench& bench, ElfAddress function) {
  if (!resizes(bench, function, 5000, 0) || !resizes(bench, function, 5000, kJunk)) return false;
  const auto fresh = bench.call(function, 0, 100, 0);
  return fresh && *fresh != 0 && bench.is_heap(*fresh);
}
bool is_rallocx(Bench& bench, ElfAddress function) {
  if (!resizes(bench, function, 5000, 0)) return false;
  for (int i = 0; i < 4; ++i) {
    const std::uint64_t old = bench.block(100);
    if (old == 0) return false;
    const auto moved = bench.call(function, old, 3000, 12);
    if (!moved || *moved == 0 || *moved % 4096 != 0) return false;
  }
  return true;
}
// A function that only asks for a block's size returns the same, but does not shrink a large block.
bool is_xallocx(Bench& bench, ElfAddress function) {
  const std::uint64_t small = bench.block(100), large = bench.block(1 << 20);
  return small != 0 && large != 0 && bench.call(function, small, 100, 0) == 112u &&
         bench.call(function, small, 5000, 0) == 112u && bench.call(function, large, 1 << 16, 0) == 1u << 16;
}

bool gives_blocks(Bench& bench, ElfAddress function, std::uint64_t second, std::uint64_t third) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> blocks;
  unsigned char mark = 1;
  for (const std::uint64_t size : {1, 8, 24, 100, 500, 2000, 5000, 20000, 100000, 3000000}) {
    const auto block = bench.call(function, size, second, third);
    if (!block || *block == 0 || *block % (size < 16 ? 8 : 16) != 0 || !bench.is_heap(*block) ||
        !bench.is_heap(*block + size - 1))
      return false;
    for (const auto& [other, length] : blocks)
      if (*block < other + length && other < *block + size) return false;
    if (!bench.fill(*block, std::min<std::uint64_t>(size, 4096), mark++)) return false;
    blocks.emplace_back(*block, size);
  }
  mark = 1;
  for (const auto& [block, size] : blocks)
    if (!bench.is_filled(block, std::min<std::uint64_t>(size, 4096), mark++)) return false;
  // Blocks of one class, next to each other.
  std::vector<std::uint64_t> row;
  for (int i = 0; i < 6; ++i) row.push_back(bench.call(function, 100, second, third).value_or(0));
  std::size_t apart = 0;
  for (std::size_t i = 1; i < row.size(); ++i) apart += row[i] - row[i - 1] == 112;
  return apart >= 4;
}
constexpr Question kQuestions[] = {{Kind::kFrees, Role::kFree, is_free},
                                   {Kind::kFrees, Role::kSdallocx, is_sdallocx},
                                   {Kind::kResizes, Role::kRealloc, is_realloc},
                                   {Kind::kResizes, Role::kRallocx, is_rallocx},
                                   {Kind::kTells, Role::kXallocx, is_xallocx},
                                   {Kind::kStores, Role::kPosixMemalign, is_posix_memalign},
                                   {Kind::kAllocates, Role::kCalloc, is_calloc},
                                   {Kind::kAllocates, Role::kMallocx, is_mallocx},
                                   {Kind::kAllocates, Role::kAlignedAlloc, is_aligned_alloc},
                                   {Kind::kAllocates, Role::kValloc, is_valloc}};

}  // namespace

bool Bench::is_heap(std::uint64_t address) const {
  const auto maps = read_file(fmt::format("/proc/{}/maps", copy_.pid()));
  if (!maps) return false;
  for (std::size_t at = 0; at < maps->size();) {
    const std::size_t end = std::min(maps->find('\n', at), maps->size());
    unsigned long start = 0, behind = 0, inode = 0;
    char rights[5] = {};
    if (std::sscanf(maps->substr(at, end - at).c_str(), "%lx-%lx %4s %*x %*s %lu", &start, &behind, rights,
                    &inode) == 4 &&
        address >= start && address < behind)
      return inode == 0 && rights[0] == 'r' && rights[1] == 'w';
    at = end + 1;
  }
  return false;
}

bool allocates(Bench& bench, ElfAddress function) {
  return gives_blocks(bench, function, kJunk, kJunk);
}
bool allocates_aligned(Bench& bench, ElfAddress function) {
  return gives_blocks(bench, function, 8, 0);
}
bool refuses_huge(Bench& bench, ElfAddress function) {
  return bench.call(function, std::uint64_t{1} << 63) == 0u;
}

Kind look_at(Bench& bench, ElfAddress function) {
  if (frees(bench, function, 100, 100, 0)) return Kind::kFrees;
  if (bench.is_gone()) return Kind::kGone;
  if (resizes(bench, function, 250, 0)) return Kind::kResizes;
  if (bench.is_gone()) return Kind::kGone;
  if (const std::uint64_t block = bench.block(100); block != 0 && bench.call(function, block, 100, 0) == 112u)
    return Kind::kTells;
  if (bench.is_gone() || !bench.memory().put(bench.scratch(), std::uint64_t{0})) return Kind::kGone;
  const auto answer = bench.call(function, bench.scratch().value, 64, 100);
  const auto stored = bench.memory().get<std::uint64_t>(bench.scratch());
  if (!answer || !stored) return Kind::kGone;
  if (*stored != 0 && *stored % 64 == 0 && bench.is_heap(*stored)) return Kind::kStores;
  const auto block = bench.call(function, 4096, 64, 0);
  if (!block) return Kind::kGone;
  return *block != 0 && *block % 16 == 0 && bench.is_heap(*block) ? Kind::kAllocates : Kind::kNone;
}

std::span<const Question> questions() {
  return kQuestions;
}

}  // namespace fathom::inject
