// Names for frames of a recording that has none: it was killed before its symbols were resolved, or names
// come later from an unstripped twin (--symbols). Looks at files of this machine, and believes them only if
// they are what was recorded.
#pragma once

#include "base/result.h"
#include "model/profile.h"
#include "symbolize/options.h"

namespace fathom::symbolize {

// Names what can be named. Frames that have names keep them. The kernel is left alone: its addresses change
// with every boot. Returns how many frames got a name.
std::size_t name_unnamed_frames(model::Profile& profile, const Options& options);

}  // namespace fathom::symbolize
