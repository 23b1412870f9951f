// The two kinds of lines that matter in the text of `perf script`. Pure functions of one line.
// Source: tools/perf/builtin-script.c of Linux 4 to 6 as printed by the versions in the wild; the fields
// depend on -F, so every one but the name, a pid or tid and the event may be missing.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace fathom::formats {

// "comm 12/13 [001]  5.000123:  10101010 cpu-clock:u:"
struct PerfHeader {
  std::string_view comm;  // may hold spaces
  std::int32_t pid = 0;   // 0 if only the tid is printed (-F -pid)
  std::int32_t tid = 0;
  std::uint16_t cpu = 0;
  std::optional<std::uint64_t> time_ns;
  std::optional<std::int64_t> period;
  std::string_view event;  // without the colon at its end: "cycles:ppp"
  std::string_view
      rest;  // behind the event: a frame when no stacks were recorded, or the fields of a tracepoint
};
std::optional<PerfHeader> parse_perf_header(std::string_view line);

// "  7f12 memchr+0x1f (/usr/lib/libc.so.6)"
struct PerfFrame {
  std::string_view symbol;  // without the offset; "[unknown]"
  std::string_view module;  // "/usr/lib/libc.so.6", "[kernel.kallsyms]", "inlined"; empty if not printed
};
std::optional<PerfFrame> parse_perf_frame(std::string_view line);

}  // namespace fathom::formats
