#include "cli/seconds_word.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <string>

#include "cli/block_options.h"

namespace fathom::cli {

CLI::Validator seconds_word() {
  return CLI::Validator(
      [](std::string& text) -> std::string {
        double number = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
        // CLI11's own checks let it pass, as it is neither too small nor too large.
        if (error == std::errc{} && !std::isfinite(number)) return fmt::format("'{}' is not a time", text);
        if (error != std::errc{} || end == text.data() + text.size()) return "";
        if (const Result<std::uint64_t> ns = parse_duration_ns(text))
          text = fmt::format("{}", static_cast<double>(*ns) / 1e9);
        return "";
      },
      "");
}

}  // namespace fathom::cli
