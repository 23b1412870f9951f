// How even a load was while it was recorded: what a figure per second is worth depends on it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace fathom::analysis {

// Of samples in pieces of equal length, each sample worth `weight` of the values: how the pieces vary beyond what sampling
// does by itself, as a standard deviation, of their mean. Nothing where they are too few or too small to tell.
std::optional<double> unevenness_of(std::span<const std::int64_t> pieces, double weight);

}  // namespace fathom::analysis
