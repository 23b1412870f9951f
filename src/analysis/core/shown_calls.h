// Which calls of a stack tables show: all but those that --hide takes out, and no callers of where --show-from begins
// (stack_choice.h). What trees do with them stands in call_tree.h.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "analysis/core/stack_choice.h"
#include "model/profile.h"

namespace fathom::analysis {

class ShownCalls {
 public:
  // Both outlive it; without a choice all calls are shown.
  ShownCalls(const model::Profile& profile, const StackChoice* choice)
      : profile_(profile), choice_(choice != nullptr && !choice->function_cuts.empty() ? choice : nullptr) {}

  // visit(frame, line), leaf first, from line `skip` of the leaf on; until it returns false.
  template <class Visit>
  void visit(model::StackId stack, std::uint32_t skip, Visit visit) const {
    std::uint32_t shown = UINT32_MAX;  // so many lines, with the hidden ones
    if (choice_ != nullptr && !choice_->starts.empty()) {
      std::uint32_t count = 0;
      walk(stack, skip, [&](model::FrameId frame, std::uint32_t line) {
        ++count;
        if ((cut_of(frame, line) & StackChoice::kStart) != 0) shown = count;  // the outermost is the last one
        return true;
      });
    }
    walk(stack, skip, [&](model::FrameId frame, std::uint32_t line) {
      if (shown-- == 0) return false;
      return (cut_of(frame, line) & StackChoice::kHidden) != 0 || visit(frame, line);
    });
  }

 private:
  template <class Visit>
  void walk(model::StackId stack, std::uint32_t line, Visit visit) const {
    for (; stack.value != 0; stack = profile_.stacks[stack.value].parent, line = 0) {
      const model::FrameId frame = profile_.stacks[stack.value].frame;
      const std::uint32_t lines = std::max(profile_.frames[frame.value].line_count, 1u);
      for (; line < lines; ++line)
        if (!visit(frame, line)) return;
    }
  }
  char cut_of(model::FrameId id, std::uint32_t line) const {
    if (choice_ == nullptr) return 0;
    const model::Frame& frame = profile_.frames[id.value];
    return line < frame.line_count
               ? choice_->function_cuts[profile_.lines[frame.first_line + line].function.value]
               : choice_->frame_cuts[id.value];
  }

  const model::Profile& profile_;
  const StackChoice* choice_;
};

}  // namespace fathom::analysis
