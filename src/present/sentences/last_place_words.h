// Where and why a signal ended a program, in words.
#pragma once

#include <string>

#include "analysis/core/last_place.h"

namespace fathom::present {

// " in parse (request.cpp:40)", " in memcpy below parse (request.cpp:40)"; `brief`: " in parse". Empty if unknown.
std::string last_place_words(const analysis::LastPlace& place, bool brief);
// "a null pointer (address 0x8)", "an assertion failed", "sent by process 12". Empty if unknown.
std::string end_reason_words(const model::FatalSignal& signal, analysis::EndReason reason);

}  // namespace fathom::present
