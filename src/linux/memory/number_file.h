// Files of the kernel that hold numbers: limits and counts of control groups, settings of sysctl, lines of /proc/PID/status.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/files.h"
#include "base/parse.h"
#include "linux/process/fields.h"

namespace fathom::sources {

// More than any such file of the kernel holds, also memory.stat.
inline constexpr std::size_t kMostOfKernelFile = 64 * 1024;

// The number on the first line; nullopt: no such file, or no number ("max").
inline std::optional<std::uint64_t> number_in(const std::string& path) {
  const auto text = read_file(path, kMostOfKernelFile);
  if (!text) return std::nullopt;
  return parse_number(std::string_view(*text).substr(0, text->find('\n')));
}

// The value of "NAME:   12 kB" in a text of such lines, in bytes. `name` has its colon.
inline std::optional<std::uint64_t> kilobytes_of(std::string_view text, std::string_view name) {
  std::string_view line;
  while (process::next_line(text, line)) {
    if (process::next_field(line) != name) continue;
    const auto number = parse_number(process::next_field(line));
    return number && *number <= UINT64_MAX / 1024 ? std::optional(*number * 1024) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace fathom::sources
