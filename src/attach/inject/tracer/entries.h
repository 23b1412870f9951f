// Writes jumps at the start of functions, while all threads are stopped once.
#pragma once

#include <span>
#include <vector>

#include "attach/inject/plan/hook.h"
#include "attach/inject/stop/target.h"

namespace fathom::inject {

// Writes `after` of every entry where the memory holds `before`. Writes nothing if one place holds something
// else, or a thread stays at a forbidden place: inside the bytes, by its instruction pointer or by a return
// address on its stack. In the former case the thread is moved into the trampoline; in the latter all threads
// continue and fathom tries again.
Result<> put_entries(Target& target, std::span<const PlannedHook* const> hooks);

// The rule without a process: where a thread at `pc` has to continue once `hook` is in. `pc` itself: it can
// stay. nullopt: between instructions, it has to move on first.
std::optional<std::uint64_t> goes_on_at(const PlannedHook& hook, std::uint64_t pc);

}  // namespace fathom::inject
