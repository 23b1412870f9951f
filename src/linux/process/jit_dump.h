// Names of code made at run time, in the file that a program writes for `perf inject --jit` (jit-PID.dump: node --perf-prof, the
// JVM's libperf-jvmti, wasmtime; tried with node). Source: tools/perf/Documentation/jitdump-specification.txt, versions 1. The file belongs to
// the target and may say anything; of its records only the heads are read, and never the code.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "linux/process/perf_map.h"

namespace fathom::process {

// As many bytes from `offset` on as there are and fit; 0 at the end.
using ReadAt = std::function<std::size_t(std::uint64_t offset, std::span<char> bytes)>;

bool is_jit_dump(std::string_view start);

// As of parse_perf_map(). What follows a record that cannot be is left out; so is one that is still being written. Empty
// for a file of the other order of bytes. Lines of the source are not read.
std::vector<PerfMapEntry> parse_jit_dump(const ReadAt& read);

}  // namespace fathom::process
