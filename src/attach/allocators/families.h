// The names of allocators' functions and their shapes.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "base/abi/heap_tracer.h"

namespace fathom::allocators {

struct FunctionName {
  std::string_view name;  // without the prefix
  tracer_shape shape;
};

std::span<const FunctionName> c_names();         // malloc, calloc, ...: every family has these
std::span<const FunctionName> libc_aliases();    // __libc_malloc, ...: full names
std::span<const FunctionName> jemalloc_names();  // mallocx, sdallocx, ...
std::span<const FunctionName> mimalloc_names();  // full names: mi_malloc, ...
std::span<const FunctionName> tcmalloc_names();  // full names: tc_malloc, ...

// What a library of the family exports in every version: if one of these is missing among exported names, it may
// be there without a name. jemalloc's without the prefix.
std::span<const std::string_view> jemalloc_exports();
std::span<const std::string_view> mimalloc_exports();
std::span<const std::string_view> tcmalloc_exports();

// C++ operators new and delete, mangled.
struct OperatorName {
  std::string_view name;
  tracer_shape shape;        // TRACER_NEW: it throws
  std::string_view nothrow;  // of TRACER_NEW: the variant that does not
};
std::span<const OperatorName> operator_names();

// Whether a symbol of that name could matter here at all; most do not, and this is quick to say.
bool is_interesting(std::string_view name);

}  // namespace fathom::allocators
