// What the endpoints answer, as bytes that scrapers take: a pprof packed with gzip, or the error as Go's net/http/pprof gives it.
// Pure. Sources: net/http/pprof of Go; the checks of Alloy's pyroscope.scrape (docs/serve.md names them).
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "linux/metrics/request.h"
#include "model/profile.h"
#include "tools/serve/pulls.h"

namespace fathom::serve {

// Packed. Without samples it is a profile as well, since a scraper takes an empty answer for an error.
// `length_ns`: of the heap alone, whose rows are always those since the start: what changed in that time at the end; 0: all.
Result<std::string> pprof_of(const model::Profile& profile, Cost cost, std::uint64_t length_ns = 0);

// The same as folded stacks, for ?debug=1.
std::string text_of(const model::Profile& profile, Cost cost);

// The rows of `profile` as the cost shows them: with kMutex, waits for locks under the stack that released the lock.
model::Profile prepared(const model::Profile& profile, Cost cost);

metrics::Answer profile_answer(const std::string& bytes, bool with_body);
metrics::Answer text_answer(std::string_view text, bool with_body);
metrics::Answer json_answer(std::string_view text, bool with_body);
// "text/plain" with the header by which clients of Go's endpoints know that the body is a sentence.
metrics::Answer error_answer(int status, std::string_view sentence);

}  // namespace fathom::serve
