// What a function without a name is known by in another build: a hash of its instructions without the addresses in them. Private to
// this folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "base/address.h"
#include "binary/elf/elf_file.h"

namespace fathom::symbolize {

// 0 if its code says nothing: it is too short, or cannot be read.
std::uint64_t code_of(const elf::ElfFile& file, std::pair<ElfAddress, std::uint64_t> bounds);

// Functions of a recorded file by where they begin, with their hashes.
using RecordedCode = std::map<ElfAddress, std::uint64_t>;

// How many functions must be the same before a file without a build id is believed to be the twin of a recorded one. All of them
// must be; a few could be those of another version, in which only later ones changed.
inline constexpr std::size_t kLeastSameFunctions = 3;

struct CodeMatch {
  std::size_t same = 0, other = 0;
  ElfAddress first_other{};  // a function that is another one
  bool is_twin() const { return other == 0 && same >= kLeastSameFunctions; }
  // Why it is none: "2 of 30 recorded functions have other code, such as the one at 0x1234".
  std::string reason() const;
};
// Each of the functions must begin in `file` at the same address and have the same code. A separate debug file has no code, so all
// differ.
CodeMatch match_code(const elf::ElfFile& file, const RecordedCode& functions);

}  // namespace fathom::symbolize
