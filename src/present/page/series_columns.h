// Measurements other than stacks, as columns of a page: series over time, and the live heap at the ends of
// its slices.
#pragma once

#include <nlohmann/json.hpp>

#include "model/profile.h"
#include "present/page/columns.h"

namespace fathom::page {

// One object per series: name, unit, pid, and the names of its columns of times (ms from the start) and values. Of a
// series with more points than a screen has pixels the largest of neighbours stays; those with most points win.
nlohmann::ordered_json add_series(const model::Profile& profile, Columns& columns);

}  // namespace fathom::page
