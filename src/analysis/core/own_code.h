// Which functions are the user's own code: not the C library, not the language's library, not a known runtime or a
// package that was only linked in (runtimes.h). A report names these first, as they are what its reader can change.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "model/profile.h"

namespace fathom::analysis {

// Answers for one profile, which outlives it. Decides by source file where lines are known ("/rustc/...",
// ".cargo/registry", "/usr/include" are not own), else by module (the executable is own) and by the crate or
// namespace of the name.
class OwnCode {
 public:
  explicit OwnCode(const model::Profile& profile);
  // `file`: of the source, empty if unknown.
  bool is_own(std::string_view name, model::ModuleId module, std::string_view file) const;
  // Of a library or runtime that the rules know: never worth a name. Code that is neither own nor this is a package that
  // was linked in.
  bool is_runtime(std::string_view name, model::ModuleId module) const;
  // C and assembly that a Rust program links in: its names have no crate, so it belongs to its caller.
  bool is_linked_code(std::string_view name, model::ModuleId module) const;
  // A file of the language or of the system: libc.so.6, [vdso].
  bool is_library(model::ModuleId module) const;

 private:
  void find_own_crates(const std::set<std::string_view>& executables);

  const model::Profile& profile_;
  std::vector<char> own_modules_;
  std::set<std::string, std::less<>>
      own_crates_;  // crates of Rust programs known to be own; else all may be own
};

}  // namespace fathom::analysis
