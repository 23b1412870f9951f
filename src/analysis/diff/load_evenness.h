// How even a load was while it was recorded: what a figure per second is worth depends on it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "analysis/core/selection.h"

namespace fathom::analysis {

// Of samples in pieces of equal length, each sample worth `weight` of the values: how the pieces vary beyond what sampling
// does by itself, as a standard deviation, of their mean. Nothing where they are too few or too small to tell.
std::optional<double> unevenness_of(std::span<const std::int64_t> pieces, double weight);

// The same of the CPU samples that a selection takes, in twenty pieces of its time; nothing where times are not known.
std::optional<double> unevenness_of(const model::Profile& profile, const Selection& selection);

}  // namespace fathom::analysis
