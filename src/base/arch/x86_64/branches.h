// How code of x86-64 names other code: found in its bytes, mostly without decoding, so that nothing is missed where a
// decoder would lose its step.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

namespace fathom::arch {
namespace detail {

// A field of 32 bits counts from behind itself.
inline std::uint64_t behind_field(std::span<const std::byte> code, std::size_t field, std::uint64_t start) {
  std::int32_t distance = 0;
  if (field + sizeof distance <= code.size()) std::memcpy(&distance, code.data() + field, sizeof distance);
  return start + field + 4 + static_cast<std::uint64_t>(std::int64_t{distance});
}

// Whether a rel32 field can follow these two bytes: e8 and e9 call and jump, 0f 80..8f branch, c7 f8 starts a
// transaction, and a rip-relative operand has a ModRM byte with mod 0 and rm 5 before its displacement. The nop before a
// function, 0f 1f 80 and four zeros, would name that function.
inline bool can_precede(std::byte earlier, std::byte before, bool with_immediate) {
  const auto byte = std::to_integer<unsigned>(before);
  if ((byte & 0xc7) == 0x05) return true;
  return !with_immediate && ((byte & 0xfe) == 0xe8 || ((byte & 0xf0) == 0x80 && earlier == std::byte{0x0f}) ||
                             (byte == 0xf8 && earlier == std::byte{0xc7}));
}

inline constexpr std::byte kThreadLocal{0x64}, kCall{0xe8}, kJump{0xe9}, kIndirect{0xff}, kCallSlot{0x15},
    kJumpSlot{0x25}, kReturn{0xc3};
inline constexpr std::array<std::byte, 4> kEndBranch = {std::byte{0xf3}, std::byte{0x0f}, std::byte{0x1e},
                                                        std::byte{0xfa}};

}  // namespace detail

// As much of a function's start as is ever changed: an endbr64 that stays, and 16 bytes.
inline constexpr std::uint64_t kChangedStart = 20;
// A function with less room than this cannot take a jump at its start: an endbr64 and the five bytes of the jump.
inline constexpr std::uint64_t kPatchRoom = 9;
inline constexpr std::uint64_t kFunctionAlignment = 16;

// Bytes of an instruction at the start that only marks it as a target of branches. 0: there is none.
inline std::uint64_t landing_pad_bytes(std::span<const std::byte> code) {
  const auto& mark = detail::kEndBranch;
  return code.size() >= mark.size() && std::memcmp(code.data(), mark.data(), mark.size()) == 0 ? mark.size()
                                                                                               : 0;
}

struct Reference {
  std::uint64_t at;  // where the field stands that names the target
  std::uint64_t target;
  bool through_word;  // a call or a jump through the word at the target
  bool branches;      // a call or a branch to the target
};

// Maximum distance of the target behind the given address, in bytes. The field is the end of a call or a
// branch, or the displacement of a rip-relative operand, which an immediate of 1, 2 or 4 bytes may follow.
inline constexpr std::uint64_t kReferenceReach = 4;

namespace detail {

// Apart from the loop, which is small then.
template <class Visit>
[[gnu::noinline]] void references_at(std::span<const std::byte> code, std::size_t i, std::uint64_t start,
                                     std::uint64_t behind, const Visit& visit) {
  // The byte before the field usually separates it from chance.
  const std::byte before = i == 0 ? std::byte{0} : code[i - 1];
  const std::byte earlier = i < 2 ? std::byte{0} : code[i - 2];
  for (const std::uint64_t immediate : {0, 1, 2, 4}) {
    if (!can_precede(earlier, before, immediate != 0)) continue;
    // ff /2 and ff /4 with a rip-relative operand.
    const bool through_word =
        immediate == 0 && earlier == kIndirect && (before == kCallSlot || before == kJumpSlot);
    const bool branches = immediate == 0 && (before == kCall || before == kJump ||
                                             (earlier == std::byte{0x0f} && (before >> 4) == std::byte{8}));
    visit(Reference{start + i, behind + immediate, through_word, branches});
  }
}

}  // namespace detail

// visit(Reference) for all that code at `start` may name, chance included. Asked first: is_near(address), whether
// anything in [address, address + kReferenceReach] is of interest. Written for speed: this loop reads all code of a
// file, 30 MB and more, and looks at every byte position as if such a field stood there.
template <class Near, class Visit>
inline void for_each_reference(std::span<const std::byte> code, std::uint64_t start, const Near& is_near,
                               const Visit& visit) {
  if (code.size() < 4) return;
  const std::size_t last = code.size() - 4;
  for (std::size_t i = 0; i <= last; ++i) {
    std::int32_t distance;
    std::memcpy(&distance, code.data() + i, sizeof distance);
    const std::uint64_t behind = start + i + 4 + static_cast<std::uint64_t>(std::int64_t{distance});
    if (!is_near(behind)) [[likely]]
      continue;
    detail::references_at(code, i, start, behind, visit);
  }
}

struct Way {
  bool calls;         // else it jumps
  bool through_word;  // `to` is a word of data that holds the function
  std::uint64_t to;
};

// visit(Way) for each call and jump of code at `start`, in its order.
template <class Visit>
inline void for_each_way(std::span<const std::byte> code, std::uint64_t start, const Visit& visit) {
  using namespace detail;
  for (std::size_t i = 0; i + 5 <= code.size(); ++i) {
    if (code[i] == kCall || code[i] == kJump)
      visit(Way{code[i] == kCall, false, behind_field(code, i + 1, start)});
    else if (i + 6 <= code.size() && code[i] == kIndirect &&
             (code[i + 1] == kCallSlot || code[i + 1] == kJumpSlot))
      visit(Way{code[i + 1] == kCallSlot, true, behind_field(code, i + 2, start)});
  }
}
// Whether it may look into memory of its thread's own (an fs prefix), and whether it may return. Bytes, so no "no" is
// wrong.
inline bool may_use_thread_memory(std::span<const std::byte> code) {
  return std::find(code.begin(), code.end(), detail::kThreadLocal) != code.end();
}
inline bool may_return(std::span<const std::byte> code) {
  return std::find(code.begin(), code.end(), detail::kReturn) != code.end();
}

// What an entry of the procedure linkage table does: it goes through a word, pushes the number of its relocation, or
// goes on to the dynamic linker.
struct LinkageEntry {
  std::optional<std::uint64_t> word;
  std::optional<std::uint32_t> number;
  bool resolver = false;
};
// `code` at `address`: one entry, or what may be one. endbr64 or none, bnd or none, then the jump.
inline LinkageEntry linkage_entry(std::span<const std::byte> code, std::uint64_t address) {
  const auto at = [&](std::size_t i) { return i < code.size() ? std::to_integer<unsigned>(code[i]) : 0u; };
  LinkageEntry entry;
  std::size_t i = landing_pad_bytes(code);
  if (at(i) == 0xf2) ++i;                    // bnd
  if (at(i) == 0xff && at(i + 1) == 0x25) {  // jmp *displacement(%rip)
    entry.word = detail::behind_field(code, i + 2, address);
  } else if (
      at(i) ==
      0x68) {  // push $number; jmp to the first entry: the lazy half when the other half is in .plt.sec
    std::uint32_t number = 0;
    if (i + 5 <= code.size()) std::memcpy(&number, code.data() + i + 1, sizeof number);
    entry.number = number;
  } else {
    // The first entry of a lazy table pushes the link map (ff 35) and goes on to the dynamic linker.
    entry.resolver = at(0) == 0xff && at(1) == 0x35;
  }
  return entry;
}

// The call that ends where a function returns to.
struct CallBefore {
  enum class Kind : std::uint8_t { kNone, kDirect, kIndirect } kind = Kind::kNone;
  std::uint64_t target = 0;  // of kDirect
};
// From the 8 bytes before the return address.
inline CallBefore call_before(const std::array<std::byte, 8>& code, std::uint64_t return_address) {
  if (code[3] == detail::kCall)
    return {CallBefore::Kind::kDirect, detail::behind_field(code, 4, return_address - code.size())};
  // call through a register or memory, of 2 to 7 bytes: FF /2
  for (const std::size_t length : {2u, 3u, 4u, 6u, 7u})
    if (code[8 - length] == detail::kIndirect && (code[9 - length] & std::byte{0x38}) == std::byte{0x10})
      return {CallBefore::Kind::kIndirect, 0};
  return {};
}

}  // namespace fathom::arch
