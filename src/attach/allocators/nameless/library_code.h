// The code of an allocator without names inside the program it is linked into, as far as the program's code
// reveals it. Pure.
//
// The code does not show which functions allocate, free and resize: they are tried
// (attach/inject/trial/library_trial.h). But it shows whether these are all the ways into the library.
#pragma once

#include <span>
#include <vector>

#include "attach/allocators/find.h"
#include "attach/allocators/nameless/candidate.h"
#include "base/address.h"
#include "base/result.h"

namespace fathom::allocators::nameless {

class LibraryCode {
 public:
  virtual ~LibraryCode() = default;

  // All functions that do something to a block are among them.
  virtual std::vector<Candidate> candidates() = 0;

  struct WaysIn {
    std::vector<Candidate> entries;   // of the doors, those by which the program comes in; ascending
    std::vector<Candidate> others;    // what else of the library the program refers to; ascending
    std::vector<CodeRange> own_code;  // of the library, as far as it is sure; ascending and apart
  };
  // `doors`: the functions that give, free or resize blocks, of the candidates. kUnsupported: the library's code does not stand
  // apart from the program's.
  virtual Result<WaysIn> ways_in(std::span<const ElfAddress> doors) = 0;

 protected:
  LibraryCode() = default;
  LibraryCode(const LibraryCode&) = default;
  LibraryCode(LibraryCode&&) = default;
};

}  // namespace fathom::allocators::nameless
