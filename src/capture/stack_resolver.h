// From walked addresses to rows of the profile: each address is looked up among the mappings that hold at
// this moment, made a frame of its module, and its name asked for once.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "capture/process_table.h"
#include "profile/profile.h"
#include "record/events.h"
#include "symbolize/worker.h"

namespace fathom::capture {

struct ResolvedStack {
  profile::StackId stack;
  std::int32_t pid = 0;
  std::uint8_t end = 0;
  profile::ModuleId end_module;  // where the walk stopped: of the outermost user frame
};

class StackResolver {
 public:
  // All outlive the resolver. Beyond `max_stacks` rows new stacks are cut to one row "(stack table full)" and
  // counted.
  StackResolver(profile::Profile& profile, profile::Builder& builder, ProcessTable& processes,
                ModuleCatalog& modules, symbolize::Worker& symbols, std::size_t max_stacks);

  ResolvedStack resolve(const record::StackSeen& seen);
  std::uint64_t stacks_refused() const { return refused_; }

 private:
  profile::FrameId user_frame(std::int32_t pid, std::uint64_t address, profile::ModuleId& module);
  profile::FrameId frame_of(profile::ModuleId module, std::uint64_t address);

  profile::Profile& profile_;
  profile::Builder& builder_;
  ProcessTable& processes_;
  ModuleCatalog& modules_;
  symbolize::Worker& symbols_;
  std::size_t max_stacks_;
  std::uint64_t refused_ = 0;
};

}  // namespace fathom::capture
