// A hook as it is wanted, and as it is planned: what plan/ makes and tracer/ carries out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/abi/heap_tracer.h"
#include "base/address.h"
#include "base/arch/common/entry_plan.h"

namespace fathom::inject {

// One function of the target that the tracer shall stand in for.
struct Hook {
  std::string name;  // for messages
  tracer_shape shape = TRACER_MALLOC;
  std::uint8_t allocator = 0;               // below TRACER_ALLOCATORS
  ProcessAddress function;                  // its start
  std::optional<ProcessAddress> partner;    // TRACER_NEW: same arguments, does not throw
  std::vector<std::byte> code;              // all of the function, as the file has it
  std::vector<std::uint8_t> entered_at;     // offsets near the start that other functions jump to
  std::vector<ProcessAddress> slots;        // not empty: hooked through these, and its text stays as it is
  ProcessAddress module_start, module_end;  // of the module that holds it, first to last mapping
  bool essential = false;  // without it what is live would be wrong: its allocator is not traced then
};

// What will become of one Hook.
struct PlannedHook {
  Hook hook;
  tracer_hook_kind kind = TRACER_HOOK_NONE;  // TRACER_HOOK_NONE: it cannot go in, `text` says why
  std::string text;                          // one line, for --dry-run
  bool same_as_another = false;              // it cannot go in as another hook of this function does
  std::uint32_t index = 0;                   // of its shape, below TRACER_HOOKS
  ProcessAddress entered;                    // the tracer's entry that stands in for it
  arch::EntryPlan entry;                     // TRACER_HOOK_ENTRY only
  ProcessAddress trampoline, stub;           // the same
};

}  // namespace fathom::inject
