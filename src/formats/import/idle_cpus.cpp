#include "formats/import/idle_cpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "model/facts.h"

namespace fathom::formats {
namespace {

using namespace std::string_view_literals;

// Parts of names of functions through which a CPU comes to an interrupt and what it left to do.
bool is_of_interrupt(std::string_view function) {
  static constexpr std::array kParts = {"interrupt"sv,  "softirq"sv, "irq_exit"sv,    "irq_enter"sv,
                                        "handle_irq"sv, "sysvec_"sv, "el1h_64_irq"sv, "asm_exc_nmi"sv};
  return std::ranges::any_of(kParts, [&](std::string_view part) { return function.find(part) != part.npos; });
}

class IdleStacks {
 public:
  explicit IdleStacks(const model::Profile& profile) : profile_(profile), known_(profile.stacks.size()) {}

  bool has_interrupt(model::StackId stack) {
    // Parents stand before their children, so a walk to the root ends.
    std::vector<std::uint32_t> path;
    Known result = Known::kNo;
    for (std::uint32_t row = stack.value; row != 0; row = profile_.stacks[row].parent.value) {
      if (known_[row] != Known::kNotYet) {
        result = known_[row];
        break;
      }
      path.push_back(row);
      if (!is_interrupt(profile_.stacks[row].frame)) continue;
      result = Known::kYes;
      break;
    }
    for (const std::uint32_t row : path) known_[row] = result;
    return result == Known::kYes;
  }

 private:
  enum class Known : std::uint8_t { kNotYet, kNo, kYes };

  bool is_interrupt(model::FrameId id) const {
    const model::Frame& frame = profile_.frames[id.value];
    for (std::uint32_t i = frame.first_line; i < frame.first_line + frame.line_count; ++i)
      if (is_of_interrupt(profile_.strings[profile_.functions[profile_.lines[i].function.value].name]))
        return true;
    return false;
  }

  const model::Profile& profile_;
  std::vector<Known> known_;
};

}  // namespace

void leave_out_idle_cpus(model::Profile& profile) {
  std::vector<bool> is_idle_task;
  for (const model::Thread& thread : profile.threads)
    is_idle_task.push_back(thread.tid == 0 &&
                           std::string_view(profile.strings[thread.name]).starts_with("swapper"));
  if (std::ranges::find(is_idle_task, true) == is_idle_task.end()) return;
  // A line of folded text stands for as many samples as it counts.
  const bool counts = model::facts_of<model::ImportFacts>(profile.meta).unit.empty();
  const auto weight = [counts](const model::Sample& sample) {
    return counts ? static_cast<std::uint64_t>(std::max<std::int64_t>(sample.value, 0)) : 1;
  };
  std::uint64_t all = 0, idle = 0;
  std::vector<bool> has_cpu;
  for (const model::Sample& sample : profile.samples) {
    if (sample.cpu >= has_cpu.size()) has_cpu.resize(std::size_t{sample.cpu} + 1);
    has_cpu[sample.cpu] = true;
    if (__builtin_add_overflow(all, weight(sample), &all)) all = UINT64_MAX;
  }
  IdleStacks stacks(profile);
  std::erase_if(profile.samples, [&](const model::Sample& sample) {
    const bool found_idle = sample.thread.value < is_idle_task.size() && is_idle_task[sample.thread.value] &&
                            !stacks.has_interrupt(sample.stack);
    if (found_idle && __builtin_add_overflow(idle, weight(sample), &idle)) idle = UINT64_MAX;
    return found_idle;
  });
  if (idle == 0) return;
  model::put_facts(model::ImportFacts{.idle_samples = idle}, profile.meta);
  // Idle CPUs are sampled like the others, so all of them are seen. One alone may stand for a file that names none.
  const auto cpus = std::ranges::count(has_cpu, true);
  if (cpus > 1 && !model::facts_of<model::OriginFacts>(profile.meta).cpus)
    model::put_facts(model::OriginFacts{.cpus = static_cast<std::uint32_t>(cpus)}, profile.meta);
  profile.quality.notes.push_back(fmt::format(
      "{} of {} samples ({:.1f} %) found a CPU idle (the kernel's idle task, swapper): they are left out.",
      idle, all, 100.0 * static_cast<double>(idle) / static_cast<double>(all)));
}

}  // namespace fathom::formats
