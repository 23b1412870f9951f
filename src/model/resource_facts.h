// Facts of each process that publishes attributes of its resource (linux/process/published_context.h): a line "KEY=VALUE" each.
// Their author is the target, so they are untrusted text.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "model/profile.h"

namespace fathom::model {

inline std::string resource_fact(std::int32_t pid) {
  return "resource." + std::to_string(pid);
}

// The value of an attribute such as "service.name", of the first process that has it; "" if none has.
inline std::string resource_attribute(const Meta& meta, std::string_view key) {
  for (const auto& [fact, text] : meta.facts) {
    if (!fact.starts_with("resource.")) continue;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      const std::string_view line = std::string_view(text).substr(at, end - at);
      if (line.starts_with(key) && line.substr(key.size()).starts_with('='))
        return std::string(line.substr(key.size() + 1));
      at = end + 1;
    }
  }
  return "";
}

}  // namespace fathom::model
