// Putting jumps at the start of functions, with all threads stopped once.
#pragma once

#include <span>
#include <vector>

#include "attach/inject/plan/hook.h"
#include "attach/inject/stop/target.h"

namespace fathom::inject {

// Writes `after` of every entry where `before` stands. Nothing is written if one place holds something else,
// or a thread stays where it must not be: among the bytes, by its instruction pointer or by one saved on its
// stack. The former is moved into the trampoline; the latter lets all go on and try again.
Result<> put_entries(Target& target, std::span<const PlannedHook* const> hooks);

// What can be said of it without a process: where a thread at `pc` has to go on once `hook` is in. `pc`
// itself: it can stay. nullopt: between instructions, it has to move on first.
std::optional<std::uint64_t> goes_on_at(const PlannedHook& hook, std::uint64_t pc);

}  // namespace fathom::inject
