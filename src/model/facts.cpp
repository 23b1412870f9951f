#include "model/facts.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>
#include <vector>

#include "base/parse.h"

namespace fathom::model {
namespace {

const std::string* find_fact(const Facts& facts, std::string_view key) {
  const auto found = facts.find(std::string(key));
  return found == facts.end() ? nullptr : &found->second;
}

template <class Number>
void read_number(const Facts& facts, const Field& field, std::optional<Number>& value) {
  value.reset();
  const std::string* text = find_fact(facts, field.name);
  if (text == nullptr) return;
  value = parse_number<Number>(*text);
}

template <class Number>
void put_number(Facts& facts, const Field& field, const std::optional<Number>& value) {
  if (value) facts[std::string(field.name)] = std::to_string(*value);
}

}  // namespace

void read_fact(const Facts& facts, const Field& field, std::string& value) {
  const std::string* text = find_fact(facts, field.name);
  value = text == nullptr ? std::string() : *text;
}
void read_fact(const Facts& facts, const Field& field, std::optional<std::uint32_t>& value) {
  read_number(facts, field, value);
}
void read_fact(const Facts& facts, const Field& field, std::optional<std::int32_t>& value) {
  read_number(facts, field, value);
}
void read_fact(const Facts& facts, const Field& field, std::optional<std::uint64_t>& value) {
  read_number(facts, field, value);
}
void read_fact(const Facts& facts, const Field& field, std::optional<double>& value) {
  read_number(facts, field, value);
  constexpr double kMost = 1e18;  // more is a damaged file, and sums of it would overflow
  if (value && !(std::fabs(*value) <= kMost)) value.reset();
}
void read_fact(const Facts& facts, const Field& field, Flag flag) {
  const std::string* text = find_fact(facts, field.name);
  flag.value = text != nullptr && *text == flag.text;
}

void put_fact(Facts& facts, const Field& field, const std::string& value) {
  if (!value.empty()) facts[std::string(field.name)] = value;
}
void put_fact(Facts& facts, const Field& field, const std::optional<std::uint32_t>& value) {
  put_number(facts, field, value);
}
void put_fact(Facts& facts, const Field& field, const std::optional<std::int32_t>& value) {
  put_number(facts, field, value);
}
void put_fact(Facts& facts, const Field& field, const std::optional<std::uint64_t>& value) {
  put_number(facts, field, value);
}
void put_fact(Facts& facts, const Field& field, const std::optional<double>& value) {
  if (value) facts[std::string(field.name)] = fmt::format("{:.{}f}", *value, field.storage.number);
}
void put_fact(Facts& facts, const Field& field, ConstFlag flag) {
  if (flag.value) facts[std::string(field.name)] = flag.text;
}

void join_facts(Facts& into, const Facts& from) {
  std::vector<std::pair<std::string, std::optional<std::uint64_t>>> sums;
  each_kind_of_fact([&](auto row) {
    fields_of(
        [&]<class T>(const Field& field, T&&) {
          if constexpr (std::is_same_v<std::decay_t<T>, std::optional<std::uint64_t>>) {
            if (field.storage.joined != Joined::kSum) return;
            std::optional<std::uint64_t> sum, more;
            read_fact(into, field, sum);
            read_fact(from, field, more);
            const bool known = sum && more && *more <= UINT64_MAX - *sum;
            sums.emplace_back(field.name, known ? std::optional(*sum + *more) : std::nullopt);
          }
        },
        row);
  });
  into.insert(from.begin(), from.end());
  for (const auto& [key, sum] : sums) {
    into.erase(key);
    if (sum) into[key] = std::to_string(*sum);
  }
}

}  // namespace fathom::model
