// A look at all threads, for a terminal: what it means, then the threads in groups of equal stacks.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "analysis/stacks/look.h"
#include "model/profile.h"

namespace fathom::present {

struct StacksTextOptions {
  std::size_t width = 100;  // columns; 0: lines as long as they are
  bool color = false;
  bool all = false;  // every group, thread and frame, those of the kernel too
};

// `looks` are of the same processes, the last one is shown; `profile` has their stacks.
std::string stacks_text(const model::Profile& profile, const std::vector<stacks::Look>& looks,
                        const StacksTextOptions& options);

}  // namespace fathom::present
