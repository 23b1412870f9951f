// Which functions a reader should hear of first: the subjects of the first sentence.
//
// One rule for every program: the deepest function with a name that still accounts for its share. From the function that
// accounts for most, the search goes down into the call that takes the most time while that call explains its caller: it has
// two thirds of the caller's time, or it and its largest siblings have three quarters. It stops at a function that does one thing: the inner
// functions of a garbage collector do the same as its entry. It does so twice, once through the program's own code and once
// through all other code. Own code is the subject unless other code that it does not call takes much more; a framework, whose time is that
// of the own code that it calls, is none. A leaf of the C
// library or of the kernel gives way to the code that calls it if nearly all of that code's time goes there. If no function
// with a name passes the threshold, the code without names of one library is the subject if it does. Functions that start
// everything (main, an interpreter's loop) are the subject only if nothing else is and they take the time themselves.
// Pure: it sees a call tree and what kind of code each name is.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "analysis/core/call_tree.h"

namespace fathom::analysis {

// In the order of preference for a subject.
enum class CodeRank : std::uint8_t {
  kNone,      // no name, or nothing that a reader could use: inner functions of the kernel
  kKernel,    // a system call or a page fault, by its outermost kernel function
  kPlumbing,  // the C library, language runtimes, executors
  kStart,     // starts everything: main, an interpreter's loop
  kLibrary,   // a named function of other code
  kOwn,       // of the program's own code
};

struct CodeFact {
  CodeRank rank = CodeRank::kNone;
  bool grouped =
      false;  // all such functions of the module count as one: code without names. Of rank kNone: only if no
              // function with a name passes the threshold
  int work =
      0;  // what it does, as a number; 0: unknown. What calls functions of its own work is not looked into
  bool of_program = false;  // of rank kNone: code without a name of the program itself
};

struct HotSubject {
  std::uint32_t name = 0, module = 0;  // rows of the tree
  NodeKind kind = NodeKind::kUser;
  CodeRank rank = CodeRank::kNone;
  std::int64_t total = 0;  // samples that have it and none of the subjects before it
  bool grouped = false;    // all grouped functions of the module; `name` is one of them
  bool spread = false;     // no function passes the threshold; this one accounts for most
  bool itself =
      false;  // it calls a subject before it; `total` is what it spends without calls of named functions
};

// Shares of all samples.
inline constexpr double kSubjectShare = 0.15;  // the least that is worth the first sentence
inline constexpr double kFurtherShare = 0.10;  // the least of a further one

// At most `most` of them, the first one first; empty only if no function has a name and a rank.
std::vector<HotSubject> find_subjects(const CallTree& tree,
                                      const std::function<CodeFact(const TreeNode&)>& code_of,
                                      std::size_t most = 3);

}  // namespace fathom::analysis
