// The frame on which a loader looks up a function that is called for the first time. Its size depends on the processor's
// registers and is known at run time only, so that call frame information finds it by a register that is saved and followed no
// further. Source: glibc's _dl_runtime_resolve (sysdeps/PROCESSOR/dl-trampoline).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/abi/unwind_table.h"
#include "base/address.h"

namespace fathom::arch {

struct BindingFrame {
  std::size_t from;    // offset of the first instruction behind those that make the frame
  ElfAddress size_at;  // the word that holds its size
};

// `code` is that of a whole function, which begins at `start`. nullopt: it makes no such frame.
std::optional<BindingFrame> binding_frame(std::span<const std::byte> code, ElfAddress start);

// Does this rule say how such a frame is found while the register is known?
bool finds_binding_frame(const unwind_rule& rule);

}  // namespace fathom::arch
