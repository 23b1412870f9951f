// From walked addresses to rows of the profile: each address is looked up among the mappings that hold at
// this moment, made a frame of its module, and its name asked for once.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "binary/symbolize/worker.h"
#include "linux/events.h"
#include "model/profile.h"
#include "record/session/tracking/process_table.h"

namespace fathom::session {

struct ResolvedStack {
  model::StackId stack;
  std::int32_t pid = 0;
  std::uint8_t end = 0;
  model::ModuleId end_module;  // where the walk stopped: of the outermost user frame
};

class StackResolver {
 public:
  // All outlive the resolver. Beyond `max_stacks` rows new stacks are cut to one row "(stack table full)" and
  // counted.
  StackResolver(model::Profile& profile, model::Builder& builder, ProcessTable& processes,
                ModuleCatalog& modules, symbolize::Worker& symbols, std::size_t max_stacks);

  ResolvedStack resolve(const sources::StackSeen& seen);
  std::uint64_t stacks_refused() const { return refused_; }

 private:
  model::FrameId user_frame(std::int32_t pid, std::uint64_t address, model::ModuleId& module);
  model::FrameId frame_of(model::ModuleId module, std::uint64_t address);

  model::Profile& profile_;
  model::Builder& builder_;
  ProcessTable& processes_;
  ModuleCatalog& modules_;
  symbolize::Worker& symbols_;
  std::size_t max_stacks_;
  std::uint64_t refused_ = 0;
};

}  // namespace fathom::session
