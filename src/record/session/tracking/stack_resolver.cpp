#include "record/session/tracking/stack_resolver.h"

#include "base/abi/walk.h"

namespace fathom::session {

StackResolver::StackResolver(model::Profile& profile, model::Builder& builder, ProcessTable& processes,
                             ModuleCatalog& modules, symbolize::Worker& symbols, std::size_t max_stacks)
    : profile_(profile),
      builder_(builder),
      processes_(processes),
      modules_(modules),
      symbols_(symbols),
      max_stacks_(max_stacks) {}

model::FrameId StackResolver::frame_of(model::ModuleId module, std::uint64_t address) {
  const std::size_t known = profile_.frames.size();
  const model::FrameId frame = builder_.frame(module, ElfAddress{address});
  if (profile_.frames.size() != known && module.value != 0)
    symbols_.submit(module, frame, ElfAddress{address});
  return frame;
}

model::FrameId StackResolver::user_frame(std::int32_t pid, std::uint64_t address, model::ModuleId& module) {
  if ((address & ~WALK_EXACT) == WALK_LEFT_OUT) {
    module = {};
    return builder_.named_frame("[frames left out]", {});
  }
  const bool exact = (address & WALK_EXACT) != 0;
  const FrameAddress frame{
      {address & ~WALK_EXACT},
      exact ? FrameAddress::Kind::kInstructionPointer : FrameAddress::Kind::kReturnAddress};
  const std::uint64_t lookup = frame.for_lookup().value;
  const CodeMapping* mapping = processes_.find(pid, lookup);
  if (mapping == nullptr) {
    module = {};
    // The same code lies elsewhere in each of many short-lived processes: without a module their addresses
    // would be as many frames.
    return frame_of(module, processes_.shares_row(pid) ? 0 : lookup);
  }
  module = mapping->module->id;
  if (mapping->module->is_collective) return frame_of(module, 0);
  if (mapping->module->kind == model::ModuleKind::kNames)
    return builder_.named_frame("(heap tracer)", module);
  return frame_of(module, lookup - mapping->bias);
}

ResolvedStack StackResolver::resolve(const sources::StackSeen& seen) {
  ResolvedStack resolved;
  resolved.pid = seen.pid;
  resolved.end = seen.end;
  model::StackId stack;
  bool outermost = true;
  const auto push = [&](model::FrameId frame) {
    if (profile_.stacks.size() < max_stacks_) {
      stack = builder_.stack(stack, frame);
      return true;
    }
    ++refused_;
    stack = builder_.stack({}, builder_.named_frame("(stack table full)", {}));
    return false;
  };
  for (auto address = seen.user.rbegin(); address != seen.user.rend(); ++address) {
    model::ModuleId module;
    const model::FrameId frame = user_frame(seen.pid, *address, module);
    if (outermost) resolved.end_module = module;
    outermost = false;
    if (!push(frame)) {
      resolved.stack = stack;
      return resolved;
    }
  }
  for (std::size_t i = seen.kernel.size(); i-- > 0;) {
    // The first address is where the kernel was, the others are return addresses.
    const std::uint64_t lookup = seen.kernel[i] - (i == 0 ? 0 : 1);
    if (!push(frame_of(modules_.kernel().id, lookup))) break;
  }
  resolved.stack = stack;
  return resolved;
}

}  // namespace fathom::session
