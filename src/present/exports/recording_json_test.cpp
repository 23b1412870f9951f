#include "present/exports/recording_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "analysis/core/hand_made_profile.h"
#include "analysis/core/words.h"
#include "model/fields.h"
#include "model/fields/words.h"
#include "model/random_profile.h"

namespace fathom::present {
namespace {

using Json = nlohmann::json;

std::string text_of(const model::Profile& profile) {
  std::string text;
  write_recording_json(profile, "fathom 1", [&text](std::string_view piece) { text += piece; });
  return text;
}

// What a value of the model is in JSON, said once more.
struct Expected {
  const model::Profile& profile;
  Json of(model::StringId id) const { return analysis::printable(profile.strings[id]); }
  template <class Tag>
  Json of(model::Id<Tag> id) const {
    return id.value;
  }
  template <class T>
  Json of(const model::Optional<T>& field) const {
    return field.value == field.none ? Json(nullptr) : of(field.value);
  }
  Json of(const std::vector<model::Point>& points) const {
    Json all = Json::array();
    for (const model::Point& point : points)
      all.push_back(Json::array({point.time_ns, std::isfinite(point.value) ? point.value : 0.0}));
    return all;
  }
  template <class Value>
  requires std::is_enum_v<Value> Json of(Value value)
  const { return std::string(model::word_of(value)); }
  template <class Value>
  requires std::is_arithmetic_v<Value> Json of(Value value)
  const {
    if constexpr (std::is_floating_point_v<Value>) return std::isfinite(value) ? value : 0.0;
    return value;
  }
};

TEST(RecordingJson, IsTheRecordingValueForValue) {
  model::for_each_profile(40, [](const model::Profile& profile) {
    const Json json = Json::parse(text_of(profile));
    const Expected expected{profile};
    const auto compare = [&](const model::Table& table, const auto& rows) {
      const Json& columns = json.at(std::string(table.name));
      for (std::size_t i = 0; i < rows.size(); ++i)
        model::fields_of(
            [&](const model::Field& field, const auto& value) {
              ASSERT_EQ(columns.at(std::string(field.name)).at(i), expected.of(value))
                  << table.name << "." << field.name << " " << i;
            },
            rows[i]);
      for (const auto& [name, column] : columns.items())
        EXPECT_EQ(column.size(), rows.size()) << table.name << name;
    };
    model::tables_of(compare, profile);
    EXPECT_EQ(json.at("meta").at("start_ns"), profile.meta.start_ns);
    EXPECT_EQ(json.at("quality").at("samples"), profile.quality.samples);
  });
}

TEST(RecordingJson, SaysWhatItIsAndWordsInsteadOfNumbers) {
  const model::Profile profile = analysis::small_server();
  const Json json = Json::parse(text_of(profile));
  EXPECT_EQ(json.at("format"), "fathom recording");
  EXPECT_EQ(json.at("version"), kRecordingJsonVersion);
  EXPECT_EQ(json.at("fathom"), "fathom 1");
  EXPECT_EQ(json.at("samples").at("metric").at(0), "cpu");
  EXPECT_EQ(json.at("modules").at("kind").at(1), "file");
  EXPECT_EQ(json.at("modules").at("symbols").at(1), "dwarf");
  EXPECT_EQ(json.at("threads").at("name").at(1), "worker-1");
  EXPECT_EQ(json.at("quality").at("early_ends").at(0).at("count"), 10);
  EXPECT_EQ(json.at("series").at("points").at(0).at(1), Json::array({6'000'000'000, 30 << 20}));
  EXPECT_TRUE(json.at("waits").at("waker").empty()) << "the columns of an empty table are there";
}

}  // namespace
}  // namespace fathom::present
