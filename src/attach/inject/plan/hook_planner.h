// Decides the kind of each hook, the place of its code, and whether it is possible. Reads the target, changes
// nothing.
#pragma once

#include <array>
#include <map>
#include <span>
#include <vector>

#include "attach/inject/plan/hook.h"
#include "attach/inject/plan/placement.h"
#include "attach/inject/stop/remote_memory.h"

namespace fathom::inject {

class HookPlanner {
 public:
  // `used`: existing hooks of each shape.
  HookPlanner(const RemoteMemory& memory, std::vector<process::MapEntry> maps,
              const tracer_image_header& header, ProcessAddress image,
              const std::array<std::uint32_t, TRACER_SHAPES>& used)
      : memory_(memory), maps_(std::move(maps)), header_(header), image_(image), used_(used) {}

  // Fills everything except `hook`.
  void plan(std::vector<PlannedHook>& hooks);

 private:
  // The pages for the trampolines and stubs of one module.
  struct Island {
    ProcessAddress start;
    std::uint64_t room = 0, taken = 0;  // in entries
  };
  Result<> plan_one(PlannedHook& planned);
  Result<> plan_slots(PlannedHook& planned) const;
  Result<> plan_start(PlannedHook& planned);
  Result<Island*> island_of(const Hook& hook);

  const RemoteMemory& memory_;
  std::vector<process::MapEntry> maps_;  // including the planned islands
  const tracer_image_header& header_;
  ProcessAddress image_;
  std::array<std::uint32_t, TRACER_SHAPES> used_;
  std::map<ProcessAddress, std::uint64_t> entries_in_;  // number of entry hooks by module start
  std::map<ProcessAddress, Island> islands_;
  std::map<ProcessAddress, std::string> taken_;  // function -> name of the hook that uses it
};

}  // namespace fathom::inject
