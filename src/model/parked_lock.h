// A futex whose address is that of the lock, and not that of the word at which the thread waits: parking_lot's threads wait
// at words of their own. The object has this name; one without it has the address of the futex word.
#pragma once

#include <string_view>

namespace fathom::model {

constexpr std::string_view kParkedLock = "lock of parked threads";

}  // namespace fathom::model
