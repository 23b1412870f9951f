// What a file does not count. Heap dumps of a program itself, and files of other tools, count less than a recording by fathom.
#pragma once

#include <cstdint>
#include <optional>

#include "model/profile.h"

namespace fathom::analysis {

enum class Uncounted : std::uint8_t {
  kLifetimes,    // of blocks: nothing is known about temporary or short-lived ones
  kAllocations,  // only what is live
  kLive,         // only allocations
  kPeak,         // a dump is one moment
};

// Why the file cannot have values of `metric`; nothing: it can. The one rule for the list of metrics and for what the user may ask.
std::optional<Uncounted> uncounted(const model::Profile& profile, model::Metric metric);

}  // namespace fathom::analysis
