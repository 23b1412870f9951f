// Processes that the recording left changed: the heap tracer, or a part of it, stayed in them.
#pragma once

#include <string>
#include <string_view>

#include "model/left_changed.h"
#include "model/profile.h"

namespace fathom::present {

// "process 12 (server) was left changed: 55 bytes in 8 places of its code and data are fathom's, because process 77 traced
// it".
std::string left_sentence(const model::LeftChanged& left, std::string_view name);
std::string left_sentence(const model::LeftChanged& left, const model::Profile& profile);
// Of all of them, with the remedy, as a report begins: "Left changed: ..."; "" where there is none.
std::string left_line(const model::Profile& profile);

}  // namespace fathom::present
