#include "model/store/default_path.h"

#include <fmt/format.h>
#include <time.h>

#include <cctype>

namespace fathom::store {
namespace {

// A file name that never needs quoting and stays in its folder: no "..", no hidden file, no option.
std::string sanitised(std::string_view target) {
  constexpr std::size_t kLongest = 64;
  target = target.substr(0, target.find(" ("));
  if (const auto slash = target.find_last_of('/');
      slash != std::string_view::npos && slash + 1 < target.size())
    target.remove_prefix(slash + 1);
  std::string name;
  for (const char letter : target) {
    const bool plain =
        std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_' || letter == '+';
    const bool inner = letter == '.' || letter == '-';
    if (plain || (inner && !name.empty()))
      name += letter;
    else if (!name.empty() && name.back() != '-')
      name += '-';
    if (name.size() == kLongest) break;
  }
  while (!name.empty() && (name.back() == '-' || name.back() == '.')) name.pop_back();
  return name.empty() ? "recording" : name;
}

}  // namespace

std::string default_path(std::string_view target, std::uint64_t unix_ns) {
  const auto seconds = static_cast<time_t>(unix_ns / 1'000'000'000);
  tm utc{};
  gmtime_r(&seconds, &utc);
  return fmt::format("fathom-profiles/{}/{:04}-{:02}-{:02}T{:02}-{:02}-{:02}.{:03}Z.fathom",
                     sanitised(target), utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday, utc.tm_hour,
                     utc.tm_min, utc.tm_sec, unix_ns / 1'000'000 % 1000);
}

}  // namespace fathom::store
