// References to the functions of a stretch of code: from instructions, words of data, and other modules.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "attach/allocators/nameless/code_map.h"
#include "base/arch/common/function_facts.h"
#include "binary/elf/elf_file.h"

namespace fathom::allocators::nameless {

struct Reference {
  FunctionNumber by;      // kNoFunction: not a function, or not one that is known
  bool through = false;   // by a word of data
  bool in_table = false;  // a word that no code names
  bool exported = false;  // any other module
};
using References = std::map<FunctionNumber, std::vector<Reference>>;
using WordRanges = std::vector<std::pair<std::uint64_t, std::uint64_t>>;  // first word, behind the last one

// To the functions from `first` to `last`, chance included; each of these has an entry in `into`. `left_out`: words that do not count.
void find_references(const elf::ElfFile& file, const CodeMap& code, FunctionNumber first, FunctionNumber last,
                     const WordRanges& left_out, References& into);

// Whether a function certainly names this address; also true if nothing is known about the function.
bool may_name(const std::optional<arch::FunctionFacts>& facts, std::uint64_t address);

}  // namespace fathom::allocators::nameless
