// Numbers as people read them. Everything is locale-free and deterministic.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace fathom::analysis {

std::string with_commas(std::int64_t value);  // "12,345"
std::string amount(double value,
                   std::string_view unit);  // "12,345 samples", "1.25 s" (ns), "3.4 MiB" (bytes)
std::string seconds(double value);          // "1.25 s", "350 ms", "12 us"
std::string bytes(double value);            // "3.4 MiB"
std::string percent(double share);          // 0.1234 -> "12.3 %", 0.00123 -> "0.12 %"
std::string percent_number(double share);   // "12.3", "0.12"
// No more digits than are known, and no more than three: 0.1234 with an error of 0.02 -> "12", of 0.002 -> "12.3".
// `error`: half an interval.
std::string percent_with_error(double share, double error);
// "1 thread", "2 threads"
std::string counted(std::uint64_t count, std::string_view singular, std::string_view plural = {});

// Text without what could break a line or a terminal: control characters become "?"; invalid UTF-8, the control characters
// beyond ASCII and marks that turn the direction of writing U+FFFD.
std::string printable(std::string_view text);
// The same for text of several lines, which stay apart.
std::string printable_lines(std::string_view text);
// Valid UTF-8, with U+FFFD for what is not.
std::string valid_utf8(std::string_view text);

}  // namespace fathom::analysis
