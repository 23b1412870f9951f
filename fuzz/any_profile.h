// The promise of every reader of a foreign format, for any bytes: an error of one line, or a valid profile
// from which trees can be built.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "analysis/core/call_tree.h"
#include "base/result.h"

namespace fathom::fuzz {

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

inline void expect_sound(const Result<model::Profile>& profile) {
  if (!profile) {
    if (profile.error().message.find('\n') != std::string::npos) std::abort();
    return;
  }
  if (!model::check(*profile)) std::abort();
  for (const model::Metric metric : analysis::metrics_in(*profile))
    (void)analysis::build_call_tree(*profile, {.selection = {.metric = metric}});
}

}  // namespace fathom::fuzz
