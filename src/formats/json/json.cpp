#include "formats/json/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace fathom::formats {
namespace {

constexpr std::size_t kMostBytes = std::size_t{512} << 20, kLookedAt = 64 * 1024;
constexpr std::size_t kMostDepth = 20'000;

// Deepest nesting of the text, outside of its strings.
std::size_t depth_of(std::string_view text) {
  std::size_t depth = 0, deepest = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      if (c == '"') quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{' || c == '[') {
      deepest = std::max(deepest, ++depth);
    } else if ((c == '}' || c == ']') && depth != 0) {
      --depth;
    }
  }
  return deepest;
}

const Json kNull;

}  // namespace

bool is_json_with(std::string_view text, std::string_view word) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || text[first] != '{') return false;
  return text.substr(0, kLookedAt).find(fmt::format("\"{}\"", word)) != std::string_view::npos;
}

Result<Json> parse_json(std::string_view text, const std::string& name) {
  if (text.size() > kMostBytes)
    return fail(ErrorKind::kUnsupported, fmt::format("{}: more than {} MiB of JSON", name, kMostBytes >> 20));
  if (depth_of(text) > kMostDepth)
    return fail(ErrorKind::kUnsupported,
                fmt::format("{}: JSON that is nested more than {} deep", name, kMostDepth));
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& error) {
    return fail(ErrorKind::kMalformed,
                fmt::format("{}: JSON that is damaged or cut short at byte {}", name, error.byte));
  } catch (const Json::exception&) {
    return fail(ErrorKind::kMalformed, fmt::format("{}: JSON with a number that is too large", name));
  }
}

const Json& member(const Json& value, const char* key) {
  if (!value.is_object()) return kNull;
  const auto found = value.find(key);
  return found == value.end() ? kNull : *found;
}

const Json& element(const Json& value, std::size_t row) {
  return value.is_array() && row < value.size() ? value[row] : kNull;
}

std::size_t length_of(const Json& value) {
  return value.is_array() ? value.size() : 0;
}

std::string text_of(const Json& value) {
  return value.is_string() ? value.get<std::string>() : std::string();
}

double number_of(const Json& value, double otherwise) {
  return value.is_number() ? value.get<double>() : otherwise;
}

std::uint64_t row_of(const Json& value) {
  return value.is_number_unsigned() ? value.get<std::uint64_t>() : UINT64_MAX;
}

std::uint32_t line_of(const Json& value, int add) {
  const double line = number_of(value, -1) + add;
  return line >= 1 && line < 4e9 ? static_cast<std::uint32_t>(line) : 0;
}

bool WholeParts::add(double part, std::int64_t& whole) {
  const double sum = sum_ + part;
  if (!std::isfinite(sum) || std::fabs(sum * scale_) > 9e18) return false;
  sum_ = sum;
  const std::int64_t all = std::llround(sum * scale_);
  whole = all - given_;
  given_ = all;
  return true;
}

}  // namespace fathom::formats
