// A number that may be unknown: null in JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

namespace fathom::present {

inline nlohmann::ordered_json or_null(const std::optional<double>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
}

}  // namespace fathom::present
