// Files of valgrind's massif (massif.out.PID), and what heaptrack_print -M writes: what was live at some moments, and at those
// that are "detailed" also where it was allocated. What was allocated and freed between them is in no such file, and of how
// many blocks it was neither. Source: docs/html/ms-manual.html of valgrind, section 9.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "model/profile.h"

namespace fathom::formats {

bool is_massif(std::string_view text);

// kMalformed where a line makes no sense or no snapshot has stacks. `name` is the file's, for messages.
Result<model::Profile> read_massif(std::string_view text, const std::string& name);

}  // namespace fathom::formats
