// Which functions held the heap's memory when the command died, from the recording that ran along.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "formats/open/open_profile.h"
#include "tools/limit/outcome.h"

namespace fathom::limit {

// The `count` functions that asked for most of what was live at the end; the largest first. `names`: who
// reads the files of the command for names that the recording lacks, as it was killed.
Result<std::vector<Holder>> read_holders(const std::string& recording, const open::NameOptions& names,
                                         std::size_t count = 3);

}  // namespace fathom::limit
