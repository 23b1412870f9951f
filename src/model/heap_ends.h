// Whether a heap is known at the start and at the end of the recording only, as of rows that a server added up: there is one slice after
// the opening one, and no course.
#pragma once

namespace fathom::model {

inline constexpr const char* kHeapEndsFact = "heap_ends";  // in Meta::facts; any value

}  // namespace fathom::model
