// The functions of a stripped file and what refers to what: found in the bytes of its code, as far as possible
// without decoding, since 100 MB are to be read in a fraction of a second.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "attach/allocators/relocations.h"
#include "base/address.h"
#include "base/arch/common/function_facts.h"
#include "binary/elf/elf_file.h"

namespace fathom::allocators::nameless {

using FunctionNumber = std::uint32_t;
inline constexpr FunctionNumber kNoFunction = ~FunctionNumber{0};

class CodeMap {
 public:
  // `file` outlives it. Functions are those that have call frame information.
  explicit CodeMap(const elf::ElfFile& file);

  std::size_t size() const { return starts_.size(); }
  std::uint64_t start(FunctionNumber function) const { return starts_[function]; }
  std::uint64_t size_of(FunctionNumber function) const { return sizes_[function]; }
  FunctionNumber holding(std::uint64_t address) const;      // kNoFunction: none
  FunctionNumber starting_at(std::uint64_t address) const;  // the same
  std::span<const std::byte> code(FunctionNumber function) const;
  // nullopt: not all of it are instructions, or it is larger than any function of interest.
  std::optional<arch::FunctionFacts> facts(FunctionNumber function) const;

  // Whether what stands at an address may be a branch or a call to another: false where the function that holds it is made
  // of instructions as a whole, and none of them is one.
  bool may_branch(std::uint64_t at, std::uint64_t target) const;

  // What in the code may name one of the addresses (ascending), chance included; in the order of the code.
  struct Naming {
    std::uint64_t named;
    FunctionNumber by;  // kNoFunction: code that no function is known to hold
    bool through;       // called or jumped to through the word at `named`
  };
  std::vector<Naming> namings(std::span<const std::uint64_t> addresses) const;
  // Functions that hold one of these numbers as four bytes; ascending, each once.
  std::vector<FunctionNumber> holding_constant(std::span<const std::uint32_t> constants) const;

  // Calls and branches from other functions to a function's first byte, chance hits included. By callee.
  struct Edge {
    FunctionNumber callee, caller;
    auto operator<=>(const Edge&) const = default;
  };
  // Those with a callee for which `wanted` is true; ascending, each once.
  std::vector<Edge> edges_into(const std::vector<bool>& wanted) const;

  // Of a program that is linked to lie at one place: words of its data that equal one of `addresses` (ascending), as
  // nothing says which words are addresses there. Chance included; empty for others.
  std::vector<FilledWord> fixed_words_holding(std::span<const ElfAddress> addresses) const;

  // Whether the address lies in memory that the program itself may write to at any time.
  bool is_writable(std::uint64_t address) const;

 private:
  template <class Visit>
  void for_each_code(const Visit& visit) const;

  const elf::ElfFile& file_;
  std::vector<std::uint64_t> starts_, sizes_;
  arch::ImageRange image_;
  // For holding(): of each 4 KiB of code the first function that begins at or behind its start.
  std::uint64_t first_ = 0;
  std::vector<FunctionNumber> pages_;
};

}  // namespace fathom::allocators::nameless
