// What a recording says of the heap, by function: for comparison with a program that knows the truth.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "model/profile.h"
#include "model/store/reader.h"

namespace fathom::support {

struct HeapNumbers {
  double calls = 0, bytes = 0;            // allocated
  double live_calls = 0, live_bytes = 0;  // not freed when the recording ended
  double calls_variance = 0, bytes_variance = 0;
};

class HeapAnswer {
 public:
  // Throws when it cannot be read.
  explicit HeapAnswer(const std::string& recording, const store::ReadOptions& options = {});

  // Of all blocks that were allocated below this function.
  HeapNumbers below(const std::string& function) const;
  HeapNumbers all() const;
  // How the blocks that were allocated below this function were given back: sums over its sites.
  model::HeapUse use_below(const std::string& function) const;
  // What was given back by madvise below this function, by the program or by the allocator of this label.
  model::HeapSum given_back_below(const std::string& function, std::string_view allocator) const;
  // Without what the program mapped by itself.
  HeapNumbers of_allocators() const;
  const model::Heap& heap() const { return profile_.heap.heaps.at(0); }
  std::size_t heaps() const { return profile_.heap.heaps.size(); }
  std::vector<std::string> allocators() const;  // labels
  std::set<std::string> functions_hooked(model::HookKind kind) const;
  const model::Profile& profile() const { return profile_; }
  // Everything that was counted and that a test might complain about, as one line.
  std::string losses() const;

 private:
  HeapNumbers sum(const std::vector<bool>& counts) const;  // by site
  bool has(model::StackId stack, const std::string& function) const;
  model::Profile profile_;
};

}  // namespace fathom::support
