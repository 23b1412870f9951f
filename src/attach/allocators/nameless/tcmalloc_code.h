// The code of a tcmalloc (gperftools) whose names were stripped, in the program that it was linked into. Pure. Source: gperftools
// 2.10, tcmalloc.cc, as Debian builds it.
//
// All functions by which programs come to it stand in a section of their own, which its source names: what is called from
// outside of that section comes in. Other functions, that work with the same data, are the library's as well.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "attach/allocators/nameless/candidate.h"
#include "attach/allocators/nameless/code_map.h"
#include "attach/allocators/nameless/library_code.h"
#include "attach/allocators/nameless/references.h"
#include "base/result.h"
#include "binary/elf/elf_file.h"

namespace fathom::allocators::nameless {

class TcmallocCode : public LibraryCode {
 public:
  // kNotFound: the file has no tcmalloc. kUnsupported: it has one, and why it cannot be analyzed. `file`
  // outlives it.
  static Result<TcmallocCode> find(const elf::ElfFile& file);

  // The functions of the section, and those elsewhere that work with its data.
  std::vector<Candidate> candidates() override;
  Result<WaysIn> ways_in(std::span<const ElfAddress> doors) override;

 private:
  explicit TcmallocCode(const elf::ElfFile& file) : file_(file), code_(file) {}
  using Facts = std::optional<arch::FunctionFacts>;

  const Facts& facts(FunctionNumber function);
  bool is_in_section(FunctionNumber function) const { return function >= first_ && function <= last_; }
  bool is_own(FunctionNumber function) const {
    return is_in_section(function) || elsewhere_.contains(function);
  }
  void find_elsewhere();
  void find_tried(const std::map<FunctionNumber, std::set<std::uint64_t>>& shares);
  bool means_the_section(FunctionNumber by, FunctionNumber function);
  std::optional<Candidate> referred_to(FunctionNumber function);

  const elf::ElfFile& file_;
  CodeMap code_;
  std::map<FunctionNumber, Facts> facts_;
  std::uint64_t section_start_ = 0, section_end_ = 0;
  FunctionNumber first_ = 0, last_ = 0;  // of the section
  std::set<FunctionNumber> elsewhere_;   // the library's, too
  std::set<FunctionNumber> tried_;       // elsewhere: may be its ways in
  References references_;
};

}  // namespace fathom::allocators::nameless
