#include "cli/seconds_word.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <string>

#include "cli/block_options.h"
#include "cli/time_option.h"

namespace fathom::cli {

CLI::Validator seconds_word() {
  return CLI::Validator(
      [](std::string& text) -> std::string {
        double number = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
        // CLI11's own checks let nan pass, as it is neither too small nor too large; and nothing lasts for 30 years.
        if (error == std::errc::result_out_of_range ||
            (error == std::errc{} && !(std::fabs(number) <= kMostSeconds)))
          return fmt::format("'{}' is not a time", text);
        if (error != std::errc{} || end == text.data() + text.size()) return "";
        if (const Result<std::uint64_t> ns = parse_duration_ns(text))
          text = fmt::format("{}", static_cast<double>(*ns) / 1e9);
        return "";
      },
      "");
}

}  // namespace fathom::cli
