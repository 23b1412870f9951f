#include "record/session/tracking/lost_names.h"

#include <fmt/format.h>

#include <algorithm>

namespace fathom::session {
namespace {

constexpr std::size_t kMostListed = 5;

}  // namespace

void LostNames::add(std::string_view file, std::string_view why) {
  files_.emplace_back(file, why);
}

std::string LostNames::sentence() const {
  if (files_.empty()) return {};
  std::string text =
      fmt::format("the names of {} are missing, as the process that reads them had to be ended: ",
                  files_.size() == 1 ? "1 file" : fmt::format("{} files", files_.size()));
  const std::size_t listed = std::min(files_.size(), kMostListed);
  for (std::size_t i = 0; i < listed; ++i)
    text += fmt::format("{}{} ({})", i == 0 ? "" : ", ", files_[i].first, files_[i].second);
  if (listed < files_.size()) text += fmt::format(" and {} more", files_.size() - listed);
  return text;
}

}  // namespace fathom::session
