// The code of a mimalloc whose names were stripped, in the program that it was linked into. Pure. Source: mimalloc 2.0.9 as
// compiled by gcc and clang.
//
// Its messages say where it is: the functions that name them stand in one stretch of code, as the library is one object file
// or the files of one archive.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "attach/allocators/find.h"
#include "attach/allocators/nameless/candidate.h"
#include "attach/allocators/nameless/code_map.h"
#include "attach/allocators/nameless/library_code.h"
#include "attach/allocators/nameless/references.h"
#include "base/result.h"
#include "binary/elf/elf_file.h"

namespace fathom::allocators::nameless {

class MimallocCode : public LibraryCode {
 public:
  // kNotFound: the file has no mimalloc. kUnsupported: it has one, and why it cannot be analyzed. `file`
  // outlives it.
  static Result<MimallocCode> find(const elf::ElfFile& file);

  // Functions near its messages which something refers to and which ask what thread they are in, or go on at once to another
  // one: all that do something to a block are among them, and some hundred others.
  std::vector<Candidate> candidates() override;

  Result<WaysIn> ways_in(std::span<const ElfAddress> doors) override;

 private:
  explicit MimallocCode(const elf::ElfFile& file) : file_(file), code_(file) {}
  using Facts = std::optional<arch::FunctionFacts>;

  const Facts& facts(FunctionNumber function);
  void find_references(FunctionNumber first, FunctionNumber last);
  bool is_named_by(FunctionNumber by, std::uint64_t address);
  bool is_dead(FunctionNumber function, int depth = 0);
  std::vector<FunctionNumber> ways_of(FunctionNumber function);
  bool reaches(FunctionNumber from, const std::set<FunctionNumber>& doors);
  bool is_inner(FunctionNumber function, int depth = 0);
  std::optional<Candidate> referred_to(FunctionNumber function, bool is_door);
  Result<> check_apart();
  void add_own_code(WaysIn& ways, const std::set<FunctionNumber>& doors);

  const elf::ElfFile& file_;
  CodeMap code_;
  std::map<FunctionNumber, Facts> facts_;
  WordRanges starts_and_ends_;                     // words of functions for the loader
  std::vector<FunctionNumber> seeds_;              // name its messages; ascending
  FunctionNumber near_first_ = 0, near_last_ = 0;  // where candidates are looked for
  FunctionNumber first_ = 0, last_ = 0;            // the library
  References references_;                          // to those of the neighbourhood
  std::set<FunctionNumber> wrappers_;              // behave as the library's, and are the program's
  int far_lookups_ = 0;                            // each is a pass over all code
};

}  // namespace fathom::allocators::nameless
