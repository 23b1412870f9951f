// Where a run-time library goes over from the code that passes an exception on to the frame that handles it.
// Before that it writes the handler's registers over those that it saved of its caller, so that restoring
// them leads to the handler: a stack walk meanwhile finds registers that were never the caller's. libgcc does
// so (_Unwind_RaiseException, _Unwind_Resume, _Unwind_ForcedUnwind ...), by what GCC calls
// __builtin_eh_return; LLVM's libunwind does not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace fathom::arch {

// Offsets in `code` of the jumps that end such functions: behind each of them is the address.
std::vector<std::size_t> exception_exits(std::span<const std::byte> code);

// `function` is the code of a whole function up to such a jump. The offset of the call that may overwrite saved registers; from
// there to the jump they are not to be believed. nullopt: it does not look like one of libgcc's.
std::optional<std::size_t> first_overwrite(std::span<const std::byte> function);

}  // namespace fathom::arch
