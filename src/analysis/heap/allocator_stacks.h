// Which stacks of CPU samples are the work of an allocator: the rule of allocator_cpu.h, stack by stack.
#pragma once

#include <memory>

#include "model/profile.h"

namespace fathom::analysis {

struct AllocatorWork {
  bool allocator = false;   // an allocator's function at the leaf, followed only by what allocators call
  bool page_fault = false;  // in the kernel, for a page that was not mapped
};

// Remembers what it found. `profile` outlives it and does not change.
class AllocatorStacks {
 public:
  explicit AllocatorStacks(const model::Profile& profile);
  ~AllocatorStacks();
  AllocatorWork of(model::StackId stack);

 private:
  struct Known;
  std::unique_ptr<Known> known_;
};

}  // namespace fathom::analysis
