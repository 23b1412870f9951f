// Finds stacks by all of their calls at once: for readers that meet millions of stacks, of which most share their beginnings
// with known ones. One search per call from the root on, as in Builder::stack, would wait for memory at every call, because each
// search begins where the one before it ended. Here every beginning of a stack has a number of its own, made of the calls alone,
// and the search goes from the leaf to the root: it ends at the longest beginning that is known, and what it did not find has to
// be added anyway.
//
// The number is a hash of 64 bits, and equal numbers are taken for equal stacks. Among the 8 million stacks that are kept of one
// file, two different ones share a number once in half a million files.
#pragma once

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

  // The stack of these calls, root first; what is new is added. `calls`: a hash of each. frame_of(i) -> the frame of calls[i];
  // it is asked for new calls only, and nullopt ends the search without a stack. `kept`: the first calls that are those of the last
  // search.
  template <class FrameOf>
  std::optional<StackId> find_or_add(std::span<const std::uint64_t> calls, FrameOf frame_of,
                                     std::size_t kept = 0) {
    asked_.resize(kept);
    std::uint64_t path = kept == 0 ? kRoot : asked_.back();
    for (const std::uint64_t call : calls.subspan(kept)) {
      path = path_of(path, call);
      asked_.push_back(path);
      paths_.prefetch(path);
    }
    StackId at{0};
    std::size_t known = asked_.size();
    for (; known > 0; --known) {
      if (const auto row = paths_.find(asked_[known - 1])) {
        at = {*row};
        break;
      }
    }
    for (; known < asked_.size(); ++known) {
      const std::optional<FrameId> frame = frame_of(known);
      if (!frame) return std::nullopt;
      stacks_.push_back({at, *frame});
      at = {paths_.size()};
      paths_.add(asked_[known]);
    }
    return at;
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
  static constexpr std::uint64_t kRoot = 0x2545f4914f6cdd1d;

  static std::uint64_t path_of(std::uint64_t above, std::uint64_t call) {
    return mixed(above + call * 0x9e3779b97f4a7c15);
  }

  std::vector<Stack>& stacks_;
  HashRows paths_;                    // row by row those of the stacks
  std::vector<std::uint64_t> asked_;  // of the stack that is searched
};

}  // namespace fathom::model
