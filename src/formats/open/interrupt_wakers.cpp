#include "formats/open/interrupt_wakers.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

namespace fathom::open {
namespace {

// Interrupt entry functions in the kernels of all processors that a recording may come from, and the timer's
// own function in case the entry has no name.
constexpr std::array kEntries = {"asm_sysvec_",      "sysvec_",           "asm_common_interrupt",
                                 "common_interrupt", "hrtimer_interrupt", "el1h_64_irq",
                                 "el0t_64_irq",      "gic_handle_irq"};

bool is_interrupt_entry(const model::Profile& profile, model::FrameId id) {
  const model::Frame& frame = profile.frames[id.value];
  if (profile.modules[frame.module.value].kind != model::ModuleKind::kKernel || frame.line_count == 0)
    return false;
  const auto function = profile.lines[frame.first_line].function;
  const std::string_view name = profile.strings[profile.functions[function.value].name];
  return std::ranges::any_of(kEntries, [&](std::string_view entry) { return name.starts_with(entry); });
}

}  // namespace

void drop_interrupt_wakers(model::Profile& profile) {
  // Parents come before their children: one pass finds for every stack whether an interrupt is on it.
  std::vector<bool> interrupted(profile.stacks.size());
  for (std::size_t i = 1; i < profile.stacks.size(); ++i) {
    const model::Stack& stack = profile.stacks[i];
    interrupted[i] = interrupted[stack.parent.value] || is_interrupt_entry(profile, stack.frame);
  }
  const auto drop = [&](model::Wait& wait) {
    if (!interrupted[wait.waker_stack.value]) return false;
    wait.waker = model::kNoThread;
    wait.waker_stack = {};
    return true;
  };
  profile.packed_waits.change_each(drop);
  for (model::Wait& wait : profile.waits) drop(wait);
}

}  // namespace fathom::open
