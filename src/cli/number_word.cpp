#include "cli/number_word.h"
#include "base/parse.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace fathom::cli {
namespace {

constexpr double kLargestSize = 1152921504606846976.0;  // 2^60
constexpr std::uint64_t kMostCounted = 1'000'000'000'000'000;

constexpr std::array<std::pair<std::string_view, int>, 17> kPowersOf2 = {{{"", 0},
                                                                          {"b", 0},
                                                                          {"k", 10},
                                                                          {"kb", 10},
                                                                          {"ki", 10},
                                                                          {"kib", 10},
                                                                          {"m", 20},
                                                                          {"mb", 20},
                                                                          {"mi", 20},
                                                                          {"mib", 20},
                                                                          {"g", 30},
                                                                          {"gb", 30},
                                                                          {"gi", 30},
                                                                          {"gib", 30},
                                                                          {"t", 40},
                                                                          {"tb", 40},
                                                                          {"tib", 40}}};

std::optional<std::uint64_t> bytes_in(std::string_view text) {
  double number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc()) return std::nullopt;
  std::string unit;
  for (const char c : text.substr(static_cast<std::size_t>(end - text.data())))
    if (c != ' ') unit += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const auto known = std::ranges::find(kPowersOf2, unit, &std::pair<std::string_view, int>::first);
  if (known == kPowersOf2.end()) return std::nullopt;
  const double bytes = std::ldexp(number, known->second);
  // Also refuses what is no number. "-0" is refused with all others that begin with "-".
  if (std::signbit(number) || !(bytes <= kLargestSize)) return std::nullopt;
  return static_cast<std::uint64_t>(std::llround(bytes));
}

}  // namespace

CLI::Validator size_word(SizeZero zero) {
  return CLI::Validator(
      [zero](std::string& text) -> std::string {
        if (text.empty()) return "is empty";
        const auto bytes = bytes_in(text);
        if (!bytes) return "expected a size such as 500m or 4g";
        if (*bytes == 0 && zero == SizeZero::kRefused) return "expected a size above 0, such as 500m or 4g";
        text = std::to_string(*bytes);
        return "";
      },
      "");
}

CLI::Validator number_between(double least, double most) {
  return CLI::Validator(
      [least, most](std::string& text) -> std::string {
        const auto number = parse_number<double>(text);
        if (number && *number >= least && *number <= most) return "";
        return fmt::format("Value {} not in range {} to {}", text, least, most);  // as CLI::Range says it
      },
      "");
}

CLI::Validator whole_number(std::uint64_t least) {
  return CLI::Validator(
      [least](std::string& text) -> std::string {
        if (text.empty()) return "is empty";
        std::uint64_t number = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
        if (error != std::errc() || end != text.data() + text.size() || number < least ||
            number > kMostCounted)
          return fmt::format("expected a number of {} or more", least);
        text = std::to_string(number);  // CLI11 would read "010" as 8
        return "";
      },
      "");
}

}  // namespace fathom::cli
