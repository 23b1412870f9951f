// What calls in a running process say of functions that are believed to give, free and resize blocks: the labels hold, or they
// contradict what was seen. Pure: hits of breakpoints in, a verdict out. The target wrote every number in a hit, so each is only
// compared with others; the bounds are those of the number of hits.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "linux/process/maps.h"

namespace fathom::inject {

enum class Point : std::uint8_t {
  kGives,    // the first instruction of what is believed to give blocks
  kGave,     // where that returns
  kFrees,    // the first instruction of what is believed to free them
  kResizes,  // the same of what resizes them
};
inline constexpr std::size_t kPoints = 4;

struct Hit {
  std::uint64_t time_ns = 0;
  std::int32_t thread = 0;
  Point point = Point::kGives;
  std::uint64_t stack = 0;                          // the stack pointer
  std::uint64_t return_to = 0;                      // what it points at: whoever called
  std::uint64_t first = 0, second = 0, result = 0;  // of the calling convention
  bool operator==(const Hit&) const = default;
};

// What memory a process had, at one moment or at several: of an address that was mapped at one of them it is known what it was.
class MemoryPicture {
 public:
  enum class Kind : std::uint8_t { kUnknown, kAnonymous, kOther };
  void add(std::span<const process::MapEntry> maps);
  // kAnonymous: may be written, and no file is behind it. kOther: was never that, or is no address of a program. kUnknown: nothing
  // was there when it was looked at.
  Kind kind_of(std::uint64_t address) const;

 private:
  struct Range {
    std::uint64_t start, end;
    bool anonymous;
  };
  std::vector<std::vector<Range>> moments_;  // ascending each
};

// What the labels say.
struct Belief {
  bool multiplies = false;  // a block has as many bytes as both arguments multiplied, as of calloc
  // The second argument of what gives holds the logarithm of an alignment in its lowest six bits, as the flags of mallocx do.
  bool flags_tell_alignment = false;
  bool frees_tell_size = false;
  // Whatever else frees or resizes blocks of this allocator was watched as well, in all threads of the process. false: an address may have
  // had several blocks between two hits.
  bool all_ends_watched = false;
  // Whether a block that was asked for with `given` bytes may be freed with `freed` bytes; null: if they are equal.
  bool (*same_size)(std::uint64_t given, std::uint64_t freed) = nullptr;
};

struct Verdict {
  enum class Kind : std::uint8_t {
    kConfirmed,
    kContradicted,
    kQuiet,  // too little was seen to say either
  };
  Kind kind = Kind::kQuiet;
  std::string why;  // of kContradicted and kQuiet

  std::uint64_t hits = 0;           // those that were looked at
  std::uint64_t calls = 0;          // of what gives
  std::uint64_t blocks = 0;         // given, with the call and the return of each
  std::uint64_t frees = 0;          // of anything but NULL
  std::uint64_t known_frees = 0;    // of blocks that were seen to be given
  std::uint64_t equal_sizes = 0;    // of these: with the size that they were given with
  std::uint64_t resizes = 0;        // of anything but NULL
  std::uint64_t known_resizes = 0;  // of blocks that were seen to be given
  std::uint64_t lost = 0;           // hits that did not arrive
  std::string describe() const;     // "93 blocks given, 60 of them freed, each with its size, 4 resized"
};

// Less says nothing.
inline constexpr std::uint64_t kEnoughBlocks = 20, kEnoughFrees = 5;

// `hits` in the order of time, from a moment on at which all points were watched; `lost`: how many are missing among them.
Verdict judge(std::span<const Hit> hits, std::uint64_t lost, const MemoryPicture& memory,
              const Belief& belief);

// Of these hits, in any order, the ones that a verdict may rest on, in the order of time: from `from_ns` on, before `until_ns`, and
// before a point of a thread is met more than `most` times, as it is watched no longer.
std::vector<Hit> complete_stretch(std::vector<Hit> hits, std::uint64_t from_ns, std::uint64_t until_ns,
                                  std::uint64_t most);

}  // namespace fathom::inject
