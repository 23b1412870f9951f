// Files of bytehound, raw or as its `strip` and `postprocess` write them: every call of the allocator with its time, its thread
// and its stack. They become a heap like heaptrack's: sums by place, thread and slice of time, with the peak exact to the event.
//
// Stacks are addresses. Mappings and programs that the file holds make them places in modules with build ids, and the symbols
// of those programs name them. The target's environment, which the file holds too, is dropped. Mappings of memory (mmap) are
// counted and left out. An unknown kind of event has no known length, so reading ends there, and a note says so.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "model/profile.h"

namespace fathom::formats {

// The format has no mark: a packed block whose beginning is a header is taken for it.
bool is_bytehound(std::string_view bytes);

// `name` is the file's, for messages.
Result<model::Profile> read_bytehound(std::string_view bytes, const std::string& name);

}  // namespace fathom::formats
