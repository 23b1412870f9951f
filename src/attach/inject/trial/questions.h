// Questions for a function in a private copy, to find out what it does to blocks. Each answer is an equality
// that does not happen by chance; answers that chance could give once are asked three times.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "attach/allocators/nameless/jemalloc_entries.h"
#include "attach/inject/trial/private_copy.h"

namespace fathom::inject {

inline constexpr std::uint64_t kJunk = 0x5a5a5a5a5a5a5a5a;  // an argument that must not matter

struct Release {
  ElfAddress function;
  bool is_sized = false;  // the second argument is the size
};

// One copy, and those of its functions that are known by now.
class Bench {
 public:
  Bench(PrivateCopy& copy, std::optional<ElfAddress> malloc, std::optional<Release> release)
      : copy_(copy), malloc_(malloc), release_(release) {}

  std::optional<std::uint64_t> call(ElfAddress function, std::uint64_t a, std::uint64_t b = kJunk,
                                    std::uint64_t c = kJunk, std::uint64_t d = 0) {
    if (gone_) return std::nullopt;
    const auto answer = copy_.call(function, {a, b, c, d});
    gone_ = !answer;
    return answer;
  }
  // A block, or 0. malloc has no second argument; if there is one, it is an alignment.
  std::uint64_t block(std::uint64_t size) { return malloc_ ? call(*malloc_, size, 8, 0).value_or(0) : 0; }
  bool release(std::uint64_t block, std::uint64_t size) {
    if (!release_) return false;
    return call(release_->function, block, release_->is_sized ? size : 0, 0).has_value();
  }
  bool fill(std::uint64_t block, std::size_t size, unsigned char with) const {
    const std::vector<std::byte> bytes(size, std::byte{with});
    return copy_.memory().write({block}, bytes).has_value();
  }
  bool is_filled(std::uint64_t block, std::size_t size, unsigned char with) const {
    std::vector<std::byte> bytes(size);
    return copy_.memory().read({block}, bytes) &&
           std::ranges::all_of(bytes, [&](std::byte each) { return each == std::byte{with}; });
  }
  // In writable memory without a file.
  bool is_heap(std::uint64_t address) const;
  bool is_gone() const { return gone_; }
  ProcessAddress scratch() const { return copy_.scratch(); }
  const RemoteMemory& memory() const { return copy_.memory(); }

 private:
  PrivateCopy& copy_;
  std::optional<ElfAddress> malloc_;
  std::optional<Release> release_;
  bool gone_ = false;  // a call did not return
};

// Like malloc, ignoring what it does with an invalid size.
bool allocates(Bench& bench, ElfAddress function);
bool allocates_aligned(Bench& bench, ElfAddress function);  // with an alignment after the size
bool refuses_huge(Bench& bench, ElfAddress function);
bool is_aligned_alloc(Bench& bench, ElfAddress function);
bool is_posix_memalign(Bench& bench, ElfAddress function);
bool is_valloc(Bench& bench, ElfAddress function);

// The apparent purpose of a function.
enum class Kind : std::uint8_t { kNone, kFrees, kResizes, kTells, kStores, kAllocates, kGone };

// One test for all kinds, which most functions fail. In this order each question is harmless to every entry
// of the library that has not answered yet: blocks look like invalid sizes and invalid alignments, and
// numbers below 256 are flags that only request an alignment and zeros. So a function that does not return is
// not an entry.
Kind look_at(Bench& bench, ElfAddress function);

struct Question {
  Kind kind;                        // asked of functions of this kind
  allocators::nameless::Role role;  // if the answer is yes
  bool (*asks)(Bench&, ElfAddress);
};
std::span<const Question> questions();

}  // namespace fathom::inject
