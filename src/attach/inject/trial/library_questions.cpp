#include "attach/inject/trial/library_questions.h"

namespace fathom::inject {
namespace {

using allocators::nameless::Role;

// Small pages have up to 585 blocks of 112 bytes, and allocate 36 at a time before they look for freed ones.
constexpr int kMostUntilBack = 700, kMostAtALook = 120;
constexpr std::uint64_t kSizes[] = {100, 2000, 20000};
constexpr std::uint64_t kHuge = std::uint64_t{1} << 33;  // its square is not a valid size

bool comes_back(Bench& bench, std::uint64_t block, std::uint64_t size, int most = kMostUntilBack) {
  for (int i = 0; i < most && !bench.is_gone(); ++i)
    if (bench.block(size) == block) return true;
  return false;
}
bool frees_in_any_order(Bench& bench, ElfAddress function, std::uint64_t size, std::uint64_t second,
                        std::uint64_t third) {
  const std::uint64_t block = bench.block(size);
  return block != 0 && bench.fill(block, size, 0x77) && bench.call(function, block, second, third) &&
         comes_back(bench, block, size);
}
bool is_library_free(Bench& bench, ElfAddress function) {
  for (const std::uint64_t size : kSizes)
    // If the second argument is its own size, realloc keeps the block; with an invalid size it keeps it, too.
    if (!frees_in_any_order(bench, function, size, kJunk, kJunk) ||
        !frees_in_any_order(bench, function, size, size, 1))
      return false;
  return true;
}

// Allocates a block that was filled and freed before, with arguments that make up its size.
template <class Ask>
std::optional<std::uint64_t> gives_again(Bench& bench, std::uint64_t size, const Ask& ask) {
  const std::uint64_t block = bench.block(size);
  if (block == 0 || !bench.fill(block, size, 0xee) || !bench.release(block, size)) return std::nullopt;
  for (int i = 0; i < kMostUntilBack; ++i) {
    const auto given = ask();
    if (!given || *given == 0) return std::nullopt;
    if (*given == block) return block;
  }
  return std::nullopt;
}
bool is_of_counts(Bench& bench, ElfAddress function, bool zeroed) {
  for (const std::uint64_t size : kSizes) {
    const auto block = gives_again(bench, size, [&] { return bench.call(function, size / 50, 50, 1); });
    // While a block was in a free list, the library used some of its words.
    if (!block || (zeroed ? !bench.is_filled(*block, size, 0) : bench.is_filled(*block + 16, size - 16, 0)))
      return false;
  }
  return bench.call(function, kHuge, kHuge, 1) == 0u;
}
bool is_library_calloc(Bench& bench, ElfAddress function) {
  return is_of_counts(bench, function, true);
}
bool is_mallocn(Bench& bench, ElfAddress function) {
  return is_of_counts(bench, function, false);
}

bool aligns(Bench& bench, ElfAddress function) {
  for (const std::uint64_t alignment : {64, 256, 4096, 16384})
    for (int i = 0; i < 3; ++i) {
      const auto block = bench.call(function, 100, alignment, 0);
      if (!block || *block == 0 || *block % alignment != 0 || !bench.is_heap(*block)) return false;
      if (!bench.fill(*block, 100, 0xee)) return false;
    }
  return gives_again(bench, 100, [&] { return bench.call(function, 100, 8, 0); }).has_value();
}
bool aligns_zeros(Bench& bench, ElfAddress function) {
  for (const std::uint64_t size : kSizes) {
    const auto block = gives_again(bench, size, [&] { return bench.call(function, size, 8, 0); });
    if (!block || !bench.is_filled(*block, size, 0)) return false;
  }
  return aligns(bench, function);
}
// operator new calls its handler, and ends the program if there is none.
bool refuses(Bench& bench, ElfAddress function) {
  return bench.call(function, std::uint64_t{1} << 63, 64, 0) == 0u && bench.call(function, 100, 24, 0) == 0u;
}
bool is_malloc_aligned(Bench& bench, ElfAddress function) {
  return aligns(bench, function) && refuses(bench, function);
}
bool is_zalloc_aligned(Bench& bench, ElfAddress function) {
  return aligns_zeros(bench, function) && refuses(bench, function);
}
bool is_new_aligned(Bench& bench, ElfAddress function) {
  return aligns(bench, function) && !bench.call(function, std::uint64_t{1} << 63, 64, 0);
}
// tcmalloc does not check that an alignment is valid, so the size of the block shows whether the alignment
// comes before or after the size: if they are exchanged, the block is smaller.
constexpr std::uint64_t kOneClass = 5120;
template <class Ask>
bool gives_of_that_class(Bench& bench, const Ask& ask) {
  // Next to a live block: empty pages would be given to another class.
  std::uint64_t block = bench.block(kOneClass), before = 0;
  for (int i = 0; i < 40 && block != before + kOneClass; ++i) {
    before = block;
    block = bench.block(kOneClass);
  }
  if (block == 0 || block != before + kOneClass || !bench.release(block, kOneClass)) return false;
  for (int i = 0; i < kMostUntilBack; ++i) {
    const auto given = ask();
    if (!given || *given == 0) return false;
    if (*given == block) return true;
  }
  return false;
}
bool is_tcmalloc_malloc_aligned(Bench& bench, ElfAddress function) {
  return aligns(bench, function) &&
         gives_of_that_class(bench, [&] { return bench.call(function, kOneClass, 64, 0); }) &&
         bench.call(function, std::uint64_t{1} << 63, 64, 0) == 0u;
}
bool is_tcmalloc_new_aligned(Bench& bench, ElfAddress function) {
  return aligns(bench, function) &&
         gives_of_that_class(bench, [&] { return bench.call(function, kOneClass, 64, 0); }) &&
         !bench.call(function, std::uint64_t{1} << 63, 64, 0);
}
bool is_tcmalloc_aligned_alloc(Bench& bench, ElfAddress function) {
  for (const std::uint64_t alignment : {64, 256, 4096, 16384})
    for (int i = 0; i < 3; ++i) {
      const auto block = bench.call(function, alignment, 100);
      if (!block || *block == 0 || *block % alignment != 0 || !bench.is_heap(*block) ||
          !bench.fill(*block, 100, 0xee))
        return false;
    }
  return gives_of_that_class(bench, [&] { return bench.call(function, 64, kOneClass); }) &&
         bench.call(function, 64, std::uint64_t{1} << 63) == 0u;
}
// A block from another allocator is not taken back.
bool is_own_aligned_alloc(Bench& bench, ElfAddress function) {
  const auto block = bench.call(function, 64, 128);
  return block && *block != 0 && bench.release(*block, 128) && comes_back(bench, *block, 128) &&
         is_aligned_alloc(bench, function);
}
bool is_own_valloc(Bench& bench, ElfAddress function) {
  const auto block = bench.call(function, 5000);
  if (!block || *block == 0 || !bench.release(*block, 5000)) return false;
  for (int i = 0; i < kMostUntilBack; ++i)
    if (bench.call(function, 5000) == block) return is_valloc(bench, function);
  return false;
}
bool is_own_posix_memalign(Bench& bench, ElfAddress function) {
  const std::uint64_t at = bench.scratch().value;
  const auto given = [&]() -> std::uint64_t {
    const auto answer = bench.call(function, at, 64, 128);
    return answer && static_cast<std::uint32_t>(*answer) == 0
               ? bench.memory().get<std::uint64_t>(bench.scratch()).value_or(0)
               : 0;
  };
  const std::uint64_t block = given();
  if (block == 0 || !bench.release(block, 128)) return false;
  for (int i = 0; i < kMostUntilBack && !bench.is_gone(); ++i)
    if (given() == block) return is_posix_memalign(bench, function);
  return false;
}

// Copies the content of the block, and frees it. An alignment of 1 is invalid, and so is a count of 1.
bool moves(Bench& bench, ElfAddress function, std::uint64_t size, std::uint64_t third) {
  const std::uint64_t old = bench.block(100);
  if (old == 0 || !bench.fill(old, 100, 0x33)) return false;
  const auto moved = bench.call(function, old, size, third);
  return moved && *moved != 0 && *moved != old && bench.is_heap(*moved) &&
         bench.is_heap(*moved + size * third - 1) && bench.is_filled(*moved, 100, 0x33) &&
         comes_back(bench, old, 100);
}
bool takes_none(Bench& bench, ElfAddress function, std::uint64_t size, std::uint64_t third) {
  const auto fresh = bench.call(function, 0, size, third);
  return fresh && *fresh != 0 && bench.is_heap(*fresh);
}
// 1000 is not a valid alignment: the block stays where it is, or the call fails.
bool keeps(Bench& bench, ElfAddress function) {
  const std::uint64_t old = bench.block(100);
  const auto kept = bench.call(function, old, 100, 1000);
  return old != 0 && kept && (*kept == old || *kept == 0);
}
bool is_library_realloc(Bench& bench, ElfAddress function) {
  return moves(bench, function, 5000, 1) && takes_none(bench, function, 100, 1) && keeps(bench, function);
}
// Before the next multiple of the alignment by as much as the block was after one: the offset of its
// alignment.
bool is_realloc_aligned(Bench& bench, ElfAddress function) {
  constexpr std::uint64_t kAlignment = 16384;
  for (int i = 0; i < 4; ++i) {
    const std::uint64_t old = bench.block(100);
    if (old == 0 || !bench.fill(old, 100, 0x33)) return false;
    const auto moved = bench.call(function, old, 3000, kAlignment);
    if (!moved || *moved == 0 || (*moved % kAlignment != 0 && (*moved + old) % kAlignment != 0) ||
        !bench.is_filled(*moved, 100, 0x33))
      return false;
  }
  return is_library_realloc(bench, function);
}
bool is_reallocarray(Bench& bench, ElfAddress function) {
  if (!moves(bench, function, 5000, 1) || !moves(bench, function, 100, 1000) ||
      !takes_none(bench, function, 10, 10))
    return false;
  const std::uint64_t old = bench.block(100);
  return old != 0 && bench.fill(old, 100, 0x33) && bench.call(function, old, kHuge, kHuge) == 0u &&
         bench.is_filled(old, 100, 0x33);
}

constexpr Question kOfMimalloc[] = {{Kind::kFrees, Role::kFree, is_library_free},
                                    {Kind::kResizes, Role::kReallocAligned, is_realloc_aligned},
                                    {Kind::kResizes, Role::kRealloc, is_library_realloc},
                                    {Kind::kResizes, Role::kReallocarray, is_reallocarray},
                                    {Kind::kStores, Role::kPosixMemalign, is_own_posix_memalign},
                                    {Kind::kAllocates, Role::kCalloc, is_library_calloc},
                                    {Kind::kAllocates, Role::kMallocn, is_mallocn},
                                    {Kind::kAllocates, Role::kZallocAligned, is_zalloc_aligned},
                                    {Kind::kAllocates, Role::kMallocAligned, is_malloc_aligned},
                                    {Kind::kAllocates, Role::kNewAligned, is_new_aligned},
                                    {Kind::kAllocates, Role::kAlignedAlloc, is_own_aligned_alloc},
                                    {Kind::kAllocates, Role::kValloc, is_own_valloc}};
constexpr Question kOfTcmalloc[] = {{Kind::kFrees, Role::kFree, is_library_free},
                                    {Kind::kResizes, Role::kRealloc, is_library_realloc},
                                    {Kind::kStores, Role::kPosixMemalign, is_own_posix_memalign},
                                    {Kind::kAllocates, Role::kCalloc, is_library_calloc},
                                    {Kind::kAllocates, Role::kMallocAligned, is_tcmalloc_malloc_aligned},
                                    {Kind::kAllocates, Role::kNewAligned, is_tcmalloc_new_aligned},
                                    {Kind::kAllocates, Role::kAlignedAlloc, is_tcmalloc_aligned_alloc},
                                    {Kind::kAllocates, Role::kValloc, is_own_valloc}};

}  // namespace

Kind look_at_giver(Bench& bench, ElfAddress function) {
  const auto block = bench.call(function, 4096, 64, 1);
  return block && *block != 0 && *block % 16 == 0 && bench.is_heap(*block) ? Kind::kAllocates : Kind::kNone;
}

// The second argument keeps the block's size, for functions that resize it.
Kind look_at_taker(Bench& bench, ElfAddress function) {
  const std::uint64_t block = bench.block(100);
  if (block == 0 || !bench.fill(block, 100, 0x77)) return Kind::kGone;
  const auto told = bench.call(function, block, 100, 1);
  if (!told) return Kind::kGone;
  if (comes_back(bench, block, 100, kMostAtALook)) return Kind::kFrees;
  const std::uint64_t old = bench.block(100);
  if (old == 0 || !bench.fill(old, 100, 0x33)) return Kind::kGone;
  const auto moved = bench.call(function, old, 250, 1);
  if (!moved) return Kind::kGone;
  if (comes_back(bench, old, 100, kMostAtALook)) return Kind::kResizes;
  if (*told == 112) return Kind::kTells;
  if (!bench.memory().put(bench.scratch(), std::uint64_t{0})) return Kind::kGone;
  const auto answer = bench.call(function, bench.scratch().value, 64, 100);
  const auto stored = bench.memory().get<std::uint64_t>(bench.scratch());
  if (!answer || !stored) return Kind::kGone;
  return *stored != 0 && bench.is_heap(*stored) ? Kind::kStores : Kind::kNone;
}

std::span<const Question> mimalloc_questions() {
  return kOfMimalloc;
}
std::span<const Question> tcmalloc_questions() {
  return kOfTcmalloc;
}

bool gives_of_the_heap(Bench& bench, ElfAddress function) {
  return gives_again(bench, 100, [&] { return bench.call(function, 100); }).has_value();
}
bool gives_zeros(Bench& bench, ElfAddress function) {
  for (const std::uint64_t size : kSizes) {
    const auto block = gives_again(bench, size, [&] { return bench.call(function, size); });
    if (!block || !bench.is_filled(*block, size, 0)) return false;
  }
  return true;
}

}  // namespace fathom::inject
