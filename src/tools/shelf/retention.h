// Which recordings a rule removes. Pure: it deletes nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/shelf/recordings.h"

namespace fathom::shelf {

struct Retention {
  std::optional<std::uint64_t> older_than_ns = {};  // removes what began longer ago
  std::optional<std::uint64_t> most_bytes = {};     // removes the oldest until the rest fits
  std::size_t keep = 0;                             // of each program, its newest so many always stay
  std::string tag = {};                             // only recordings with this tag; empty: of all
  std::string program = {};                         // only recordings of this program; empty: of all
};

struct Removal {
  std::size_t recording = 0;  // index into the list
  enum class Reason { kAge, kSize } reason = Reason::kAge;
};

// `recordings` are in the order of find_recordings(). One that is still being written stays, and so does one that could not be
// read: what is not understood is not thrown away.
std::vector<Removal> choose(const std::vector<Recording>& recordings, const Retention& rule,
                            std::uint64_t now_unix_ns);

}  // namespace fathom::shelf
