#include "cli/seconds_word.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <string>
#include <string_view>

namespace fathom::cli {
namespace {

struct Unit {
  std::string_view name;
  double seconds;
};
constexpr std::array<Unit, 7> kUnits{
    {{"us", 1e-6}, {"ms", 1e-3}, {"s", 1}, {"m", 60}, {"min", 60}, {"h", 3600}, {"d", 86400}}};

}  // namespace

CLI::Validator seconds_word() {
  return CLI::Validator(
      [](std::string& text) {
        double number = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
        const std::string_view name(end, static_cast<std::size_t>(text.data() + text.size() - end));
        for (const Unit& unit : kUnits) {
          if (error == std::errc() && name == unit.name) {
            text = fmt::format("{}", number * unit.seconds);
            break;
          }
        }
        return std::string();
      },
      "");
}

}  // namespace fathom::cli
