// How code names other code: nothing is known.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace fathom::arch {

inline constexpr std::uint64_t kChangedStart = 1;
inline constexpr std::uint64_t kPatchRoom = 1;
inline constexpr std::uint64_t kFunctionAlignment = 1;

inline std::uint64_t landing_pad_bytes(std::span<const std::byte>) {
  return 0;
}

struct Reference {
  std::uint64_t at;  // where the field stands that names the target
  std::uint64_t target;
  bool through_word;  // a call or a jump through the word at the target
  bool branches;      // a call or a branch to the target
};

// Maximum distance of the target behind the given address, in bytes.
inline constexpr std::uint64_t kReferenceReach = 0;

template <class Near, class Visit>
inline void for_each_reference(std::span<const std::byte>, std::uint64_t, const Near&, const Visit&) {}

struct Way {
  bool calls;         // else it jumps
  bool through_word;  // `to` is a word of data that holds the function
  std::uint64_t to;
};

template <class Visit>
inline void for_each_way(std::span<const std::byte>, std::uint64_t, const Visit&) {}
inline bool may_use_thread_memory(std::span<const std::byte>) {
  return true;
}
inline bool may_return(std::span<const std::byte>) {
  return true;
}

// What an entry of the procedure linkage table does: it goes through a word, pushes the number of its relocation, or
// goes on to the dynamic linker.
struct LinkageEntry {
  std::optional<std::uint64_t> word;
  std::optional<std::uint32_t> number;
  bool resolver = false;
};
inline LinkageEntry linkage_entry(std::span<const std::byte>, std::uint64_t) {
  return {};
}

// The call that ends where a function returns to.
struct CallBefore {
  enum class Kind : std::uint8_t { kNone, kDirect, kIndirect } kind = Kind::kNone;
  std::uint64_t target = 0;  // of kDirect
};
inline CallBefore call_before(const std::array<std::byte, 8>&, std::uint64_t) {
  return {};
}

}  // namespace fathom::arch
