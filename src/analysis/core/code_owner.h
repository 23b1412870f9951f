// Who owns a frame's code, judged by its name and module: the kernel, the language's library, an allocator,
// a run-time code generator, or the user.
#pragma once

#include <cstdint>
#include <string_view>

#include "analysis/core/call_tree.h"

namespace fathom::analysis {

enum class Owner : std::uint8_t {
  kThread,  // rows that are no code: the whole, processes, threads
  kKernel,
  kRuntime,  // C and C++ libraries, Rust's std, core and alloc, the loader, the vdso
  kAllocator,
  kGenerated,  // code made at run time
  kCause,      // what a thread waited for
  kUnknown,    // addresses that belong to nothing that was mapped
  kCode,       // the rest
};

Owner owner_of(const TreeNode& node, std::string_view name, const TreeModule& module);

// The crate or namespace that a name begins with: "reth_evm" for "<reth_evm::Executor as
// core::ops::Fn>::call" and for "int* reth_evm::f<int>(char)". `<T as Trait>` belongs to the crate of T, or
// to that of Trait when T is the standard library's (one of both must be local, says Rust's orphan rule). ""
// without one: a C function, a class at top level.
std::string_view namespace_of(std::string_view name);

}  // namespace fathom::analysis
