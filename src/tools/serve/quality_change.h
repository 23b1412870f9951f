// What of the quality of a recording belongs to one window of it: counters grow from its beginning on. Pure.
#pragma once

#include <map>
#include <string>

#include "model/profile.h"
#include "tools/serve/excerpt.h"

namespace fathom::serve {

// Counters become differences; levels, peaks and sentences are those of `after`. Modules are entered into the excerpt.
model::Quality change_of(const model::Quality& before, const model::Quality& after, Excerpt& excerpt);

// Facts that are amounts of the whole recording, which no window has.
void forget_sums(std::map<std::string, std::string>& facts);

}  // namespace fathom::serve
