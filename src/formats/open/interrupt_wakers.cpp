#include "formats/open/interrupt_wakers.h"

#include <algorithm>
#include <array>
#include <bitset>
#include <string_view>
#include <vector>

#include "model/system_call.h"

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

constexpr std::int32_t kMostCalls = 512;
constexpr std::uint64_t kPrivateFutex = 128;  // FUTEX_PRIVATE_FLAG

// System calls by what their waits say about the waker.
class Calls {
 public:
  Calls() {
    for (std::int32_t number = 0; number < kMostCalls; ++number) {
      const std::string_view name = model::system_call_name(number);
      if (name == "futex") futexes_.set(static_cast<std::size_t>(number));
      if (name == "poll" || name == "ppoll" || name == "select" || name == "pselect6")
        polls_.set(static_cast<std::size_t>(number));
    }
  }
  bool is_futex(std::int32_t number) const { return has(futexes_, number); }
  bool is_poll(std::int32_t number) const { return has(polls_, number); }

 private:
  using Numbers = std::bitset<kMostCalls>;
  static bool has(const Numbers& numbers, std::int32_t number) {
    return number >= 0 && number < kMostCalls && numbers[static_cast<std::size_t>(number)];
  }
  Numbers futexes_, polls_;
};

// No thread ended the wait, whichever is named.
bool has_no_waker(const model::Profile& profile, const model::Wait& wait) {
  static const Calls kCalls;
  if (wait.waker.value >= profile.threads.size() || wait.thread.value >= profile.threads.size()) return false;
  if (kCalls.is_poll(wait.system_call)) return wait.result == 0;
  return kCalls.is_futex(wait.system_call) && (wait.argument & kPrivateFutex) != 0 &&
         wait.waker_stack.value == 0 &&
         profile.threads[wait.waker.value].process != profile.threads[wait.thread.value].process;
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
    if (wait.waker == model::kNoThread) return false;
    if (!interrupted[wait.waker_stack.value] && !has_no_waker(profile, wait)) return false;
    wait.waker = model::kNoThread;
    wait.waker_stack = {};
    return true;
  };
  profile.packed_waits.change_each(drop);
  for (model::Wait& wait : profile.waits) drop(wait);
}

}  // namespace fathom::open
