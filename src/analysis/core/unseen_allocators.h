// Untraced allocators of a recorded process: present and known, but fathom lacks some function that frees or
// resizes their blocks. Code that reports "nothing", "all" or "leak" for a heap asks here first.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/profile.h"

namespace fathom::analysis {

struct UnseenAllocator {
  std::string label;   // "jemalloc 5.3.0"
  std::string module;  // path of the file that holds it
  std::string why;     // with what would help, in parentheses
  bool operator==(const UnseenAllocator&) const = default;
};

// Each once, in the order in which they were met.
std::vector<UnseenAllocator> unseen_allocators(const model::Profile& profile);

// Of which at least one function was hooked: "glibc 2.36", each label once.
std::vector<std::string> traced_allocators(const model::Profile& profile);

}  // namespace fathom::analysis
