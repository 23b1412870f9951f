#include "present/exports/sql_writer.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <sstream>

#include "analysis/core/hand_made_profile.h"
#include "analysis/core/words.h"
#include "model/fields.h"
#include "model/fields/words.h"
#include "model/random_profile.h"
#include "present/exports/json_text.h"

namespace fathom::present {
namespace {

std::string sql_of(const model::Profile& profile) {
  std::string text;
  write_sql(profile, "fathom 1", [&text](std::string_view piece) { text += piece; });
  return text;
}

// The rows of each table, as they stand between brackets.
std::map<std::string, std::vector<std::string>> rows_in(const std::string& sql) {
  std::map<std::string, std::vector<std::string>> tables;
  std::istringstream lines(sql);
  std::string table;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("INSERT INTO \"")) {
      table = line.substr(13, line.find('"', 13) - 13);
      EXPECT_TRUE(line.ends_with("\" VALUES")) << line;
    } else if (line.starts_with("(")) {
      const std::size_t end = line.rfind(')');
      EXPECT_THAT(line.substr(end), ::testing::AnyOf("),", ");"));
      tables[table].push_back(line.substr(1, end - 1));
    }
  }
  return tables;
}

// What a value of the model is in SQL, said once more.
struct ExpectedSql {
  const model::Profile& profile;
  static std::string quoted(const std::string& text) {
    std::string out = "'";
    for (const char c : text) out += c == '\'' ? std::string("''") : std::string(1, c);
    return out + "'";
  }
  std::string of(model::StringId id) const { return quoted(analysis::printable(profile.strings[id])); }
  template <class Tag>
  std::string of(model::Id<Tag> id) const {
    return std::to_string(id.value);
  }
  template <class T>
  std::string of(const model::Optional<T>& field) const {
    return field.value == field.none ? "NULL" : of(field.value);
  }
  template <class Value>
  requires std::is_enum_v<Value> std::string of(Value value)
  const { return quoted(std::string(model::word_of(value))); }
  template <class Value>
  requires std::is_arithmetic_v<Value> std::string of(Value value)
  const {
    std::string text;
    if constexpr (std::is_same_v<Value, std::uint64_t>)
      text = fmt::format("{}", static_cast<std::int64_t>(value));
    else if constexpr (std::is_same_v<Value, bool>)
      text = value ? "1" : "0";
    else
      append_number(text, value);
    return text;
  }
};

TEST(Sql, IsTheRecordingValueForValue) {
  model::for_each_profile(40, [](const model::Profile& profile) {
    const auto tables = rows_in(sql_of(profile));
    const ExpectedSql expected{profile};
    const auto compare = [&](const model::Table& table, const auto& rows) {
      using Row = typename std::decay_t<decltype(rows)>::value_type;
      const auto found = tables.find(std::string(table.name));
      ASSERT_EQ(found == tables.end() ? 0 : found->second.size(), rows.size()) << table.name;
      for (std::size_t i = 0; i < rows.size(); ++i) {
        std::string row = std::to_string(i);
        model::fields_of(
            [&](const model::Field&, const auto& value) {
              using Value = std::decay_t<decltype(value)>;
              if constexpr (std::is_same_v<Row, model::Line> && std::is_same_v<Value, model::StringId>)
                row += ',' + std::to_string(value.value);
              else if constexpr (!std::is_same_v<Value, std::vector<model::Point>>)
                row += ',' + expected.of(value);
            },
            rows[i]);
        ASSERT_EQ(found->second[i], row) << table.name;
      }
    };
    model::tables_of(compare, profile);
    std::size_t points = 0;
    for (const model::Series& series : profile.series) points += series.points.size();
    EXPECT_EQ(tables.contains("series_points") ? tables.at("series_points").size() : 0, points);
  });
}

TEST(Sql, ManyRowsAreSeveralStatementsAndNoneIsEmpty) {
  model::Profile profile = analysis::small_server();
  profile.samples.resize(20'000, profile.samples.front());
  const std::string sql = sql_of(profile);
  EXPECT_EQ(rows_in(sql)["samples"].size(), 20'000u);
  std::size_t statements = 0;
  for (auto at = sql.find("INSERT INTO \"samples\""); at != std::string::npos;
       at = sql.find("INSERT INTO \"samples\"", at + 1))
    ++statements;
  EXPECT_GT(statements, 3u);
  EXPECT_EQ(sql.find("VALUES;"), std::string::npos);
  EXPECT_EQ(sql.find("INSERT INTO \"waits\""), std::string::npos) << "a table without rows";
  EXPECT_THAT(sql,
              ::testing::HasSubstr("CREATE TABLE \"waits\" (id INTEGER PRIMARY KEY, \"start_ns\" BIGINT"));
}

// What a program calls itself cannot end the text that it stands in.
TEST(Sql, TextsStayTexts) {
  model::Profile profile = analysis::small_server();
  profile.meta.target = "x'); DROP TABLE samples; --\n\x1b[2J";
  profile.quality.notes = {"it's"};
  const auto tables = rows_in(sql_of(profile));
  EXPECT_THAT(tables.at("meta"),
              ::testing::Contains(::testing::StartsWith("'target','x''); DROP TABLE samples; --")));
  EXPECT_THAT(tables.at("notes"), ::testing::ElementsAre("'it''s'"));
}

}  // namespace
}  // namespace fathom::present
