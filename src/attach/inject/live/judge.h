// Compares calls in a running process with assumed roles of functions: allocate, free, resize. They confirm
// the labels or contradict them. Pure: hits of breakpoints in, a verdict out. The target controls every
// number in a hit, so numbers are only compared with each other; memory use is limited by the number of hits.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "linux/process/maps.h"

namespace fathom::inject {

enum class Point : std::uint8_t {
  kGives,    // the first instruction of the function assumed to allocate
  kGave,     // its return
  kFrees,    // the first instruction of the function assumed to free
  kResizes,  // the same for the function assumed to resize
};
inline constexpr std::size_t kPoints = 4;

struct Hit {
  std::uint64_t time_ns = 0;
  std::int32_t thread = 0;
  Point point = Point::kGives;
  std::uint64_t stack = 0;                          // the stack pointer
  std::uint64_t return_to = 0;                      // the value at the stack pointer: the caller's address
  std::uint64_t first = 0, second = 0, result = 0;  // of the calling convention
  bool operator==(const Hit&) const = default;
};

// A process's memory at one or several moments: classifies addresses that were mapped at one of them.
class MemoryPicture {
 public:
  enum class Kind : std::uint8_t { kUnknown, kAnonymous, kOther };
  void add(std::span<const process::MapEntry> maps);
  // kAnonymous: writable, without a file. kOther: mapped, but never anonymous, or not a user-space address.
  // kUnknown: not mapped when the maps were read.
  Kind kind_of(std::uint64_t address) const;

 private:
  struct Range {
    std::uint64_t start, end;
    bool anonymous;
  };
  std::vector<std::vector<Range>> moments_;  // ascending within each moment
};

// The meaning of the labels.
struct Belief {
  bool multiplies = false;  // a block's size is the product of both arguments, as for calloc
  // The second argument of the allocating function holds the logarithm of an alignment in its lowest six
  // bits, like the flags of mallocx.
  bool flags_tell_alignment = false;
  bool frees_tell_size = false;
  // Every function that frees or resizes blocks of this allocator was watched in all threads of the process.
  // false: between two hits, an address may have been used for several blocks.
  bool all_ends_watched = false;
  // Whether a block allocated with `given` bytes may be freed with `freed` bytes; null: only if they are
  // equal.
  bool (*same_size)(std::uint64_t given, std::uint64_t freed) = nullptr;
};

struct Verdict {
  enum class Kind : std::uint8_t {
    kConfirmed,
    kContradicted,
    kQuiet,  // not enough calls for a verdict
  };
  Kind kind = Kind::kQuiet;
  std::string why;  // for kContradicted and kQuiet

  std::uint64_t hits = 0;           // hits considered
  std::uint64_t calls = 0;          // of the allocating function
  std::uint64_t blocks = 0;         // allocated blocks with both a call and a return
  std::uint64_t frees = 0;          // of pointers other than NULL
  std::uint64_t known_frees = 0;    // of blocks whose allocation was seen
  std::uint64_t equal_sizes = 0;    // those freed with the same size as allocated
  std::uint64_t resizes = 0;        // of pointers other than NULL
  std::uint64_t known_resizes = 0;  // of blocks whose allocation was seen
  std::uint64_t lost = 0;           // hits that did not arrive
  std::string describe() const;     // "93 blocks given, 60 of them freed, each with its size, 4 resized"
};

// Fewer give no verdict.
inline constexpr std::uint64_t kEnoughBlocks = 20, kEnoughFrees = 5;

// `hits` in time order, from a moment when all points were watched; `lost`: how many are missing.
Verdict judge(std::span<const Hit> hits, std::uint64_t lost, const MemoryPicture& memory,
              const Belief& belief);

// Selects the hits, given in any order, that a verdict may use, in time order: from `from_ns`, before
// `until_ns`, and before any point of a thread has more than `most` hits, because it is disabled then.
std::vector<Hit> complete_stretch(std::vector<Hit> hits, std::uint64_t from_ns, std::uint64_t until_ns,
                                  std::uint64_t most);

}  // namespace fathom::inject
