// Tools that ran without symbols write addresses where names belong. They are places and no functions: written as fathom writes
// places, they are counted as frames without a name.
#pragma once

#include <string>
#include <string_view>

namespace fathom::formats {

// "0x104c7", "00007f00aabbccdd"; not "deadbeef", which may be a function.
constexpr bool is_address(std::string_view name) {
  constexpr std::size_t kMostDigits = 16, kLeastBare = 8;
  const bool marked = name.starts_with("0x") || name.starts_with("0X");
  const std::string_view digits = marked ? name.substr(2) : name;
  if (digits.empty() || digits.size() > kMostDigits) return false;
  if (!marked && (digits.size() < kLeastBare || digits.front() < '0' || digits.front() > '9')) return false;
  for (const char c : digits)
    if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'))) return false;
  return true;
}

// "[0x104c7]", "[ls+0x104c7]" of a module that is known.
inline std::string place_of_address(std::string_view address, std::string_view module) {
  const std::string_view prefix = address.starts_with("0x") || address.starts_with("0X") ? "" : "0x";
  std::string place = "[";
  if (!module.empty()) place.append(module).append("+");
  return place.append(prefix).append(address).append("]");
}

}  // namespace fathom::formats
