#include "analysis/core/tracer_frames.h"

#include <algorithm>
#include <array>

namespace fathom::analysis {

std::optional<model::ModuleId> tracer_module(const model::Profile& profile) {
  for (std::uint32_t i = 0; i < profile.modules.size(); ++i) {
    const model::Module& module = profile.modules[i];
    if (module.kind == model::ModuleKind::kNames && profile.strings[module.name] == "[fathom]") return {{i}};
  }
  return std::nullopt;
}

bool is_own_bpf_program(std::string_view function) {
  // The names of the programs and of their parts, as src/record/bpf_programs has them. The kernel keeps 15 characters.
  constexpr std::array<std::string_view, 21> kNames{
      "thread_switched", "thread_resumed",  "thread_woken",    "thread_born",    "thread_ended",
      "thread_exited",   "thread_execed",   "process_forked",  "process_execed", "memory_changed",
      "page_faulted",    "call_returned",   "count_fault",     "sample_cpu",     "probe_entered",
      "probe_left",      "heap_probe_allo", "heap_probe_free", "walk_in_kernel", "step_once",
      "signal_taken"};
  constexpr std::string_view kStart = "bpf_prog_";
  constexpr std::size_t kTag = 16;  // a hash of the program, in hex
  if (!function.starts_with(kStart) || function.size() <= kStart.size() + kTag + 1) return false;
  return std::ranges::find(kNames, function.substr(kStart.size() + kTag + 1)) != kNames.end();
}

// By frame: whether its innermost function is a BPF program of fathom. Empty if none is.
static std::vector<char> own_bpf_frames(const model::Profile& profile) {
  std::vector<char> of_function(profile.functions.size(), 0), of_frame;
  bool any = false;
  for (std::size_t i = 0; i < of_function.size(); ++i)
    if (is_own_bpf_program(profile.strings[profile.functions[i].name])) {
      of_function[i] = 1;
      any = true;
    }
  if (!any) return of_frame;
  of_frame.resize(profile.frames.size(), 0);
  for (std::size_t i = 0; i < of_frame.size(); ++i) {
    const model::Frame& frame = profile.frames[i];
    if (frame.line_count > 0 && profile.modules[frame.module.value].kind == model::ModuleKind::kKernel)
      of_frame[i] = of_function[profile.lines[frame.first_line].function.value];
  }
  return of_frame;
}

std::vector<char> stacks_of_tracer(const model::Profile& profile) {
  const auto tracer = tracer_module(profile);
  const std::vector<char> own_bpf = own_bpf_frames(profile);
  if (!tracer && own_bpf.empty()) return {};
  std::vector<char> is_tracers(profile.stacks.size(), 0);
  for (std::size_t i = 1; i < profile.stacks.size(); ++i) {  // parents come first
    const model::Stack& stack = profile.stacks[i];
    const model::ModuleId module = profile.frames[stack.frame.value].module;
    const model::ModuleKind kind = profile.modules[module.value].kind;
    if ((tracer && module == *tracer) || (!own_bpf.empty() && own_bpf[stack.frame.value] != 0))
      is_tracers[i] = 1;
    else if (kind == model::ModuleKind::kKernel || kind == model::ModuleKind::kVdso)
      is_tracers[i] = is_tracers[stack.parent.value];
  }
  return is_tracers;
}

}  // namespace fathom::analysis
