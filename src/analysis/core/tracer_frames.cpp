#include "analysis/core/tracer_frames.h"

#include <algorithm>

namespace fathom::analysis {

std::optional<model::ModuleId> tracer_module(const model::Profile& profile) {
  for (std::uint32_t i = 0; i < profile.modules.size(); ++i) {
    const model::Module& module = profile.modules[i];
    if (module.kind == model::ModuleKind::kNames && profile.strings[module.name] == "[fathom]") return {{i}};
  }
  return std::nullopt;
}

std::vector<char> stacks_of_tracer(const model::Profile& profile) {
  const auto tracer = tracer_module(profile);
  if (!tracer) return {};
  std::vector<char> is_tracers(profile.stacks.size(), 0);
  for (std::size_t i = 1; i < profile.stacks.size(); ++i) {  // parents come first
    const model::Stack& stack = profile.stacks[i];
    const model::ModuleId module = profile.frames[stack.frame.value].module;
    const model::ModuleKind kind = profile.modules[module.value].kind;
    if (module == *tracer)
      is_tracers[i] = 1;
    else if (kind == model::ModuleKind::kKernel || kind == model::ModuleKind::kVdso)
      is_tracers[i] = is_tracers[stack.parent.value];
  }
  return is_tracers;
}

}  // namespace fathom::analysis
