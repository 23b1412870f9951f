// Files of the kernel that hold a number: limits and counts of control groups, settings of sysctl.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/files.h"
#include "process/fields.h"

namespace fathom::sources {

// More than any such file of the kernel holds, also memory.stat.
inline constexpr std::size_t kMostOfKernelFile = 64 * 1024;

// The number on the first line; nullopt: no such file, or no number ("max").
inline std::optional<std::uint64_t> number_in(const std::string& path) {
  const auto text = read_file(path, kMostOfKernelFile);
  if (!text) return std::nullopt;
  return process::parse_number(std::string_view(*text).substr(0, text->find('\n')));
}

}  // namespace fathom::sources
