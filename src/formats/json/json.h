// JSON of unknown origin, as a tree of values whose kinds are not to be trusted: each look at one says what is taken where it
// is of another kind, or not there.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace fathom::formats {

using Json = nlohmann::json;

// Whether the text begins like an object of JSON and has the word, quoted, among its first ones.
bool is_json_with(std::string_view text, std::string_view word);

// kMalformed with the place; kUnsupported where it is larger or deeper than what is read. `name` is the file's.
Result<Json> parse_json(std::string_view text, const std::string& name);

// The member of an object; null where there is none, or no object.
const Json& member(const Json& value, const char* key);
// The element of an array, likewise.
const Json& element(const Json& value, std::size_t row);
// 0 where it is no array.
std::size_t length_of(const Json& value);
std::string text_of(const Json& value);
double number_of(const Json& value, double otherwise = 0);
// A row of a table; UINT64_MAX where it is none.
std::uint64_t row_of(const Json& value);
// A line of a source file; 0 where it is none.
std::uint32_t line_of(const Json& value, int add = 0);

// Whole parts of a running sum of fractions, which add up to what the fractions do.
class WholeParts {
 public:
  explicit WholeParts(double scale) : scale_(scale) {}
  // False where it is no number that can be measured.
  bool add(double part, std::int64_t& whole);

 private:
  double scale_, sum_ = 0;
  std::int64_t given_ = 0;
};

}  // namespace fathom::formats
