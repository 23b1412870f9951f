// Texts with as many different stacks as the profile of a large program over a day: calls of 20 to 80
// characters, 10 to 60 deep, with shared outer frames, as in one program. Most occur once, some thousands of
// times. The same numbers give the same text on every machine.
#pragma once

#include <cstddef>
#include <string>

namespace fathom::bench {

void write_large_folded(const std::string& path, std::size_t stacks);
void write_large_perf_script(const std::string& path, std::size_t stacks);

}  // namespace fathom::bench
