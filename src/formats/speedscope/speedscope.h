// Files of speedscope (its file-format-schema.json), which py-spy, rbspy and many others write: sampled and evented profiles.
// Times become the metric cpu in ns, bytes what is live in a heap, and each profile of the file a thread. A profile "all
// threads" next to others is their sum and left out. Of files that fathom wrote, waits are the metric off-cpu. What a file counts other than times is left out, too, with a note.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "model/profile.h"

namespace fathom::formats {

bool is_speedscope(std::string_view text);

// kMalformed where it is no such file. `name` is the file's, for messages.
Result<model::Profile> read_speedscope(std::string_view text, const std::string& name);

}  // namespace fathom::formats
