// The default path of a recording.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace fathom::store {

// "fathom-profiles/redis-server/2026-03-01T12-30-05.250Z.fathom", below the working folder: `target` is what
// was recorded ("redis-server (pid 12)", "web (container of docker)") or the path of a launched program
// ("/usr/bin/cc1plus", "my projects/server"); only the name in it is used. `unix_ns` is CLOCK_REALTIME. UTC, so that names sort by time.
std::string default_path(std::string_view target, std::uint64_t unix_ns);

}  // namespace fathom::store
