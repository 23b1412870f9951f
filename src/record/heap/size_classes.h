// How much memory an allocator uses for a block of a requested size: allocators round up to classes by fixed
// rules. This gives the loss to rounding, and whether a sized free would put a block among blocks of another
// size, without asking the process anything. Pure.
//
// Sources: glibc malloc/malloc.c (request2size); jemalloc include/jemalloc/internal/sz.h (4.0 to 5.3: four
// classes for each doubling, quantum 16); mimalloc src/present/page-queue.c (_mi_bin); gperftools src/common.cc
// (SizeMap::Init). Builds with other constants exist; the tests compare with the distributions' builds.
#pragma once

#include <cstdint>
#include <string_view>

namespace fathom::sources::heap {

enum class SizeRule : std::uint8_t { kUnknown, kGlibc, kJemalloc, kMimalloc, kTcmalloc };

// From the label of an allocator ("jemalloc 5.3.0 (_rjem_)"); versions whose rule is another are unknown.
SizeRule size_rule(std::string_view label);

// Bytes that the program may use of a block of `size` bytes without alignment; 0: not known. The allocator's
// own header is not among them. Large blocks (glibc from 128 KiB, mimalloc from 128 KiB, tcmalloc from 256
// KiB on) are rounded to pages or more, depending on the state of the process: this is the least of it.
std::uint64_t usable_size(SizeRule rule, std::uint64_t size);

// Whether a block of `asked` bytes may be freed as one of `claimed`. If the rule is unknown only the same
// size is valid, which C++ and C demand anyway.
bool is_same_class(SizeRule rule, std::uint64_t asked, std::uint64_t claimed);

}  // namespace fathom::sources::heap
