// From a row of call frame information to the rule of base/abi/unwind_table.h: what a walk of pc, sp and fp
// needs. Implemented for each processor, in PROCESSOR/cfa_rules.cpp of this folder. Expressions are not evaluated
// but recognised, as only a handful exist: those of procedure linkage tables, of re-aligned frames (gcc), and of
// signal frames. Everything else becomes CFA_UNSUPPORTED, never a guess.
#pragma once

#include "base/abi/unwind_table.h"
#include "binary/dwarf/cfa_program.h"

namespace fathom::dwarf {

// A caller's fp that we cannot express (in another register, by a longer expression) becomes FP_UNDEFINED:
// the walk goes on as long as no frame needs it.
unwind_rule rule_of(const FrameState& state, const Cie& cie);

}  // namespace fathom::dwarf
