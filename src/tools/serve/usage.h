// What processes have used so far, from /proc: what conditions are about.
#pragma once

#include <cstdint>
#include <vector>

#include "tools/serve/trigger.h"

namespace fathom::serve {

// Of all of them together; one that has ended counts no more.
TriggerReading usage_of(const std::vector<std::int32_t>& pids, std::uint64_t now_ns);

}  // namespace fathom::serve
