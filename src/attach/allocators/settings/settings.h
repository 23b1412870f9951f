// How to configure an allocator differently, from its label alone. Pure. Sources: jemalloc(3), "TUNING" and
// "MALLOC_CONF"; a build with a prefix has the prefix in its variable too, in capitals.
#pragma once

#include <string>
#include <string_view>

namespace fathom::allocators {

// "_rjem_" of "jemalloc 5.3.0 (_rjem_)"; "" of the library as it is distributed.
std::string_view prefix_in(std::string_view label);

// "_RJEM_MALLOC_CONF" for "_rjem_".
std::string jemalloc_variable(std::string_view prefix);

// Free pages go back after a second, also while the program is idle.
inline constexpr std::string_view kJemallocGivesBackSooner =
    "background_thread:true,dirty_decay_ms:1000,muzzy_decay_ms:0";

}  // namespace fathom::allocators
