// How even the load was during a recording: the value of a figure per second depends on it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "analysis/core/selection.h"

namespace fathom::analysis {

// For samples in pieces of equal length, each sample worth `weight` of the values: how much the pieces vary
// beyond the variance of sampling, as a standard deviation relative to their mean. nullopt if there are too
// few pieces or samples.
std::optional<double> unevenness_of(std::span<const std::int64_t> pieces, double weight);

// The same for the CPU samples of a selection, in twenty pieces of its time; nullopt if times are unknown.
std::optional<double> unevenness_of(const model::Profile& profile, const Selection& selection);

}  // namespace fathom::analysis
