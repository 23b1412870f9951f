// Why a selection holds nothing of a recording, and what to select instead.
#pragma once

#include "analysis/core/selection.h"
#include "base/result.h"
#include "model/profile.h"

namespace fathom::analysis {

// Of a selection without samples (or bytes, or waits) of its metric. kNotFound.
Error nothing_selected(const model::Profile& profile, const Selection& selection);

}  // namespace fathom::analysis
