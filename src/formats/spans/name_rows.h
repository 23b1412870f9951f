// Names of spans, each stored once. They are text of strangers: cut to a length, and kept as bytes.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "formats/spans/span_file.h"

namespace fathom::formats {

class NameRows {
 public:
  explicit NameRows(std::vector<std::string>& names) : names_(names) {}
  std::uint32_t row(std::string_view name) {
    const auto [found, added] = rows_.try_emplace(std::string(name.substr(0, kLongestSpanName)),
                                                  static_cast<std::uint32_t>(names_.size()));
    if (added) names_.push_back(found->first);
    return found->second;
  }

 private:
  std::vector<std::string>& names_;
  std::unordered_map<std::string, std::uint32_t> rows_;
};

}  // namespace fathom::formats
