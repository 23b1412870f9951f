// Sockets at which threads wait for connections or messages of any peer. The mark is the address of the object,
// as a socket has none.
#pragma once

#include <cstdint>

#include "model/profile.h"

namespace fathom::model {

inline constexpr std::uint64_t kListens = 1;

inline bool is_listening(const WaitObject& object) {
  return object.kind == ObjectKind::kSocket && object.address == kListens;
}

}  // namespace fathom::model
