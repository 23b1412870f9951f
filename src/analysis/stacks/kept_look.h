// The part of a look that a recording keeps: threads that cannot go on, and those that hold what they wait for. A fact of the
// recording, as text; a reader has the same sentences for it as for a look of its own.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "analysis/stacks/look.h"

namespace fathom::stacks {

inline constexpr const char* kLookFact = "stuck";
// What is missing of the look near the end; absent: nothing. "unfinished": it took too long, or the target ended in the middle of
// it; "names": some names, which took too long.
inline constexpr const char* kLookMissedFact = "look_missed";

// The verdict says that threads do not go on, or hold up others by waiting themselves. Not of idleness, of work, or of what is
// not known.
bool is_trouble(Finding finding);

// Only the verdicts that are trouble, with their threads. A wait that may end at any moment counts from `least_ns` on: shorter ones
// are how locks work. Deadlocks and locks of threads that have exited count at once.
Look keep_trouble(const Look& look, std::uint64_t least_ns);

// A line per thread, then a line per verdict. Empty if there are no verdicts, or if they would take more than 1 MiB. `look.time_ns` is
// that since the start of the recording of a look which nothing has moved since; 0: it was made near the end.
std::string to_fact(const Look& look);
// Untrusted text: lines that do not parse are left out, and verdicts about threads that are not there. Notes are not kept, nor how
// long it took.
Look look_of_fact(std::string_view text);

}  // namespace fathom::stacks
