// Finds stacks by all of their calls at once: for readers that meet millions of stacks, of which most share their beginnings
// with known ones. One search per call from the root on, as in Builder::stack, would wait for memory at every call, because each
// search begins where the one before it ended. Here every beginning of a stack has a number of its own, made of the calls alone,
// and the search goes from the leaf to the root: it ends at the longest beginning that is known, and what it did not find has to
// be added anyway.
//
// The number is a hash of 64 bits, and equal numbers are taken for equal stacks. Among the 8 million stacks that are kept of one
// file, two different ones share a number once in half a million files.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/hash_rows.h"
#include "base/row_index.h"
#include "model/profile.h"

namespace fathom::model {

class StackPaths {
 public:
  // `stacks` outlives it and is empty but for row 0; no row is added or changed behind its back.
  explicit StackPaths(std::vector<Stack>& stacks) : stacks_(stacks) { paths_.add(kRoot); }

  static constexpr std::uint64_t kRoot = 0x2545f4914f6cdd1d;  // the number of the beginning without calls

  // The number of the beginning that `call`, a hash, makes of the one `above`.
  static std::uint64_t path_of(std::uint64_t above, std::uint64_t call) {
    return mixed(above + call * 0x9e3779b97f4a7c15);
  }

  // Before a search for these, of which the last ones are looked at first.
  void prefetch(std::span<const std::uint64_t> paths) const {
    constexpr std::size_t kLookedAt = 8;
    for (const std::uint64_t path : paths.last(std::min(paths.size(), kLookedAt))) paths_.prefetch(path);
  }

  // The stack of which `paths` are the beginnings, that of one call first; what is new is added. frame_of(i) -> the frame of call
  // i; it is asked for new calls only, and nullopt ends the search without a stack.
  template <class FrameOf>
  std::optional<StackId> find_or_add(std::span<const std::uint64_t> paths, FrameOf frame_of) {
    StackId at{0};
    std::size_t known = paths.size();
    for (; known > 0; --known) {
      if (const auto row = paths_.find(paths[known - 1])) {
        at = {*row};
        break;
      }
    }
    for (; known < paths.size(); ++known) {
      const std::optional<FrameId> frame = frame_of(known);
      if (!frame) return std::nullopt;
      stacks_.push_back({at, *frame});
      at = {paths_.size()};
      paths_.add(paths[known]);
    }
    return at;
  }

  // The same of calls, root first: a hash of each.
  template <class FrameOf>
  std::optional<StackId> find_or_add_calls(std::span<const std::uint64_t> calls, FrameOf frame_of) {
    asked_.clear();
    std::uint64_t path = kRoot;
    for (const std::uint64_t call : calls) asked_.push_back(path = path_of(path, call));
    prefetch(asked_);
    return find_or_add(asked_, frame_of);
  }

  // After the table was changed by somebody else: call_of(frame) -> the hash of its calls.
  template <class CallOf>
  void find_again(CallOf call_of) {
    paths_.clear();
    paths_.add(kRoot);
    for (std::size_t row = 1; row < stacks_.size(); ++row)
      paths_.add(path_of(paths_.hash(stacks_[row].parent.value), call_of(stacks_[row].frame)));
  }

 private:
  std::vector<Stack>& stacks_;
  HashRows paths_;                    // row by row those of the stacks
  std::vector<std::uint64_t> asked_;  // of the stack that is searched
};

}  // namespace fathom::model
