// Why and where a signal ended a program, from the stack of the thread that took it (model/fatal_signal.h): the place that faulted or
// aborted, the program's own function above it, and what the functions between the two mean.
#pragma once

#include <cstdint>
#include <optional>

#include "model/fatal_signal.h"
#include "model/profile.h"

namespace fathom::analysis {

// Why, as far as the stack shows it.
enum class EndReason : std::uint8_t {
  kNone,            // the signal itself is all that is known
  kHeapDamaged,     // the C library's allocator found it
  kAssertion,       // assert()
  kException,       // of C++, which nothing caught
  kTerminate,       // std::terminate() for another reason
  kPureVirtual,     // a call of a pure virtual function
  kStackSmashed,    // -fstack-protector
  kBufferOverflow,  // _FORTIFY_SOURCE
  kRustPanic,
  kGoPanic,
  kAbort,          // a call of abort()
  kStackOverflow,  // the fault is where the stack ends
  kNullPointer,
  kDivision,  // by zero
  kFileCut,   // a page of a mapped file behind its end
  kSent,      // by another process
};

struct LastPlace {
  EndReason reason = EndReason::kNone;
  // nullopt: the stack is unknown, or has no such frame.
  std::optional<model::FatalSignal::Frame>
      where;  // that faulted or asked for the end, without the way to abort
  std::optional<model::FatalSignal::Frame> own = {};  // innermost function of the program's own code
};

LastPlace last_place_of(const model::Profile& profile, const model::FatalSignal& signal);

}  // namespace fathom::analysis
