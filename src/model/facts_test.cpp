#include "model/facts.h"

#include <gtest/gtest.h>

#include <set>

namespace fathom::model {
namespace {

// A value that no field has by default.
void fill(std::string& value, int number) {
  value = "text " + std::to_string(number);
}
template <class Number>
void fill(std::optional<Number>& value, int number) {
  value = static_cast<Number>(number);
}
void fill(Flag flag, int) {
  flag.value = true;
}

bool is_filled(const std::string& value, int number) {
  return value == "text " + std::to_string(number);
}
template <class Number>
bool is_filled(const std::optional<Number>& value, int number) {
  return value == static_cast<Number>(number);
}
bool is_filled(Flag flag, int) {
  return flag.value;
}
template <class Number>
bool is_empty(const std::optional<Number>& value) {
  return !value;
}
bool is_empty(Flag flag) {
  return !flag.value;
}

TEST(Facts, EveryFactThatWasPutIsReadAndEveryKeyIsOfOneField) {
  std::set<std::string_view> keys;
  each_kind_of_fact([&](auto row) {
    int number = 0;
    fields_of([&](const Field&, auto&& value) { fill(value, ++number); }, row);
    Meta meta;
    meta.facts["host of another kind"] = "stays";
    put_facts(row, meta);
    EXPECT_EQ(meta.facts.size(), static_cast<std::size_t>(number) + 1);
    auto read_back = facts_of<decltype(row)>(meta);
    int same = 0;
    fields_of(
        [&](const Field& field, auto&& value) {
          EXPECT_TRUE(is_filled(value, ++same)) << field.name;
          EXPECT_TRUE(keys.insert(field.name).second) << field.name;
        },
        read_back);
    replace_facts(decltype(row){}, meta);
    EXPECT_EQ(meta.facts, (Facts{{"host of another kind", "stays"}}));
  });
}

// Files are hostile, and other versions write what they like.
TEST(Facts, TextsThatAreNoValueOfTheirFieldAreAbsent) {
  for (const char* text : {"", "x", "-", "1 x", "0x10", "99999999999999999999999", "nan", "inf", "+5", " 5"})
    each_kind_of_fact([&](auto row) {
      Meta meta;
      fields_of([&](const Field& field, auto&&) { meta.facts[std::string(field.name)] = text; }, row);
      auto read_back = facts_of<decltype(row)>(meta);
      fields_of(
          [&](const Field& field, auto&& value) {
            if constexpr (!std::is_same_v<std::decay_t<decltype(value)>, std::string>) {
              EXPECT_TRUE(is_empty(value)) << field.name << " = " << text;
            }
          },
          read_back);
    });
}

TEST(Facts, DoublesHaveTheDecimalsOfTheirField) {
  Meta meta;
  put_facts(SamplingFacts{.stolen_percent = 12.345}, meta);
  put_facts(WorkFacts{.name = "requests", .before = 2.5}, meta);
  EXPECT_EQ(meta.facts,
            (Facts{{"stolen_percent", "12.3"}, {"work_name", "requests"}, {"work_before", "2.500"}}));
}

TEST(Facts, OfTwoRecordingsTheFirstWinsAndSumsAreOfBothOrUnknown) {
  Facts into{{"host", "a"}, {"cpu_runs", "5"}, {"own_start_us", "7"}, {"probe_ns", "1"}};
  const Facts from{{"host", "b"},
                   {"cpu_runs", "6"},
                   {"own_naming_us", "8"},
                   {"probe_ns", "18446744073709551615"},
                   {"unknown", "x"}};
  join_facts(into, from);
  EXPECT_EQ(into, (Facts{{"host", "a"}, {"cpu_runs", "11"}, {"unknown", "x"}}));
}

}  // namespace
}  // namespace fathom::model
