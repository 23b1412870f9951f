// What the number of a system call in a Wait means, for the architecture that was recorded.
#pragma once

#include <cstdint>
#include <string_view>

namespace fathom::model {

// "futex"; empty for an unknown number and for -1.
std::string_view system_call_name(std::int32_t number);

// Does it return how many bytes it read, wrote or sent?
bool moves_bytes(std::int32_t number);

// Is its first argument a file descriptor?
bool takes_descriptor(std::int32_t number);

}  // namespace fathom::model
