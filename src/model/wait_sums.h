// Whether a row of waits is many waits that were added up, as a server does, and not one that was drawn for others: then its weight
// is the number of waits, and their time is exact.
#pragma once

namespace fathom::model {

inline constexpr const char* kWaitSumsFact = "wait_sums";  // in Meta::facts; any value

}  // namespace fathom::model
