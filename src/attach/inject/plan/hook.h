// A hook as requested and as planned: plan/ makes it and tracer/ carries it out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/abi/heap_tracer.h"
#include "base/address.h"
#include "base/arch/common/entry_plan.h"

namespace fathom::inject {

// One function of the target to be hooked.
struct Hook {
  std::string name;  // for messages
  tracer_shape shape = TRACER_MALLOC;
  std::uint8_t allocator = 0;               // below TRACER_ALLOCATORS
  ProcessAddress function;                  // its start
  std::optional<ProcessAddress> partner;    // TRACER_NEW: same arguments, does not throw
  std::vector<std::byte> code;              // the whole function, as in the file
  std::vector<std::uint8_t> entered_at;     // offsets near the start that other functions jump to
  std::vector<ProcessAddress> slots;        // not empty: hooks these slots and leaves the text unchanged
  ProcessAddress module_start, module_end;  // the module that contains it, first to last mapping
  bool essential = false;  // without it live memory would be wrong: its allocator is then not traced
};

// The plan for one Hook.
struct PlannedHook {
  Hook hook;
  tracer_hook_kind kind = TRACER_HOOK_NONE;  // TRACER_HOOK_NONE: impossible, `text` says why
  std::string text;                          // one line, for --dry-run
  bool same_as_another = false;              // impossible, because another hook uses this function
  std::uint32_t index = 0;                   // among hooks of its shape, below TRACER_HOOKS
  ProcessAddress entered;                    // the tracer's entry that replaces it
  arch::EntryPlan entry;                     // TRACER_HOOK_ENTRY only
  ProcessAddress trampoline, stub;           // the same
};

}  // namespace fathom::inject
