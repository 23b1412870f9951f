// What the event programs put into their rings, as events. Layouts: src/base/abi. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "linux/events.h"

namespace fathom::sources {

// Appends the event of one record, or Lost for one that is cut short or of an unknown kind.
void decode_ring_event(std::span<const std::byte> record, std::vector<Event>& out);

}  // namespace fathom::sources
