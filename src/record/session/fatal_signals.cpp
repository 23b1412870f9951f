#include "record/session/fatal_signals.h"

#include <algorithm>

#include "model/fatal_signal.h"

namespace fathom::session {
namespace {

void add_lines_of(const model::Profile& profile, const model::Frame& frame,
                  std::vector<model::FatalSignal::Frame>& out) {
  const std::string module(profile.strings[profile.modules[frame.module.value].name]);
  if (frame.line_count == 0) out.push_back({profile.pseudo_name(frame), module, "", 0});
  for (std::uint32_t i = 0; i < frame.line_count; ++i) {
    const model::Line& line = profile.lines[frame.first_line + i];
    out.push_back({std::string(profile.strings[profile.functions[line.function.value].name]), module,
                   std::string(profile.strings[line.file]), line.line});
  }
}

}  // namespace

// A number that is used again belongs to its last process.
void FatalSignals::saw(const std::vector<EventSink::FatalSignal>& signals) {
  for (const EventSink::FatalSignal& signal : signals)
    if (by_pid_.size() < kMostProcesses || by_pid_.contains(signal.taken.pid))
      by_pid_.insert_or_assign(signal.taken.pid, signal);
}

void FatalSignals::tell(model::Profile& profile) const {
  for (const auto& [pid, signal] : by_pid_) {
    const sources::FatalSignal& taken = signal.taken;
    model::FatalSignal fatal{
        taken.signal, taken.code, taken.address, taken.stack_pointer, taken.sender_pid, taken.tid, "", {}};
    for (const model::Thread& thread : profile.threads)
      if (thread.tid == taken.tid) fatal.thread = profile.strings[thread.name];
    for (model::StackId stack = signal.stack.stack;
         stack.value != 0 && fatal.frames.size() < model::kMostFatalFrames;
         stack = profile.stacks[stack.value].parent)
      add_lines_of(profile, profile.frames[profile.stacks[stack.value].frame.value], fatal.frames);
    model::put_fatal_signal(pid, fatal, profile.meta.facts);
  }
}

}  // namespace fathom::session
