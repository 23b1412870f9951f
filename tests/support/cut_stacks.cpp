#include "support/cut_stacks.h"

#include <fmt/format.h>

#include <map>

#include "base/abi/walk.h"
#include "model/store/reader.h"

namespace fathom::support {
namespace {

std::string describe(const model::Profile& profile, const model::Sample& sample) {
  const model::Thread& thread = profile.threads[sample.thread.value];
  std::string text = fmt::format("end {} in {}", sample.end, profile.strings[thread.name]);
  for (auto stack = sample.stack; stack.value != 0; stack = profile.stacks[stack.value].parent) {
    const model::Frame& frame = profile.frames[profile.stacks[stack.value].frame.value];
    text += " < ";
    if (frame.line_count == 0)
      text += profile.pseudo_name(frame);
    else
      text += profile.strings[profile.functions[profile.lines[frame.first_line].function.value].name];
  }
  return text;
}

}  // namespace

std::string cut_stacks(const std::string& recording) {
  const auto profile = store::read(recording);
  if (!profile) return profile.error().message;
  struct Seen {
    int times = 0;
    std::uint64_t first_ms = 0, last_ms = 0;
  };
  std::map<std::string, Seen> stacks;
  for (const model::Sample& sample : profile->samples) {
    if (sample.end == WALK_ROOT || sample.end == WALK_KERNEL_THREAD || sample.end == WALK_EXITING) continue;
    Seen& seen = stacks[describe(*profile, sample)];
    const std::uint64_t ms = (sample.time_ns - profile->meta.start_ns) / 1'000'000;
    if (seen.times++ == 0) seen.first_ms = ms;
    seen.last_ms = ms;
  }
  std::string text;
  for (const auto& [stack, seen] : stacks)
    text += fmt::format("{} x at {} to {} ms: {}\n", seen.times, seen.first_ms, seen.last_ms, stack);
  return text;
}

}  // namespace fathom::support
