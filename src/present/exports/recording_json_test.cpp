#include "present/exports/recording_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "analysis/core/hand_made_profile.h"
#include "analysis/core/words.h"
#include "model/random_profile.h"
#include "present/exports/heap_fields.h"

namespace fathom::present {
namespace {

using Json = nlohmann::json;

std::string text_of(const model::Profile& profile) {
  std::string text;
  write_recording_json(profile, "fathom 1", [&text](std::string_view piece) { text += piece; });
  return text;
}

// So many values does a struct hold, those of structs inside of it among them: as many as can be given in braces.
struct AnyValue {
  template <class T>
  requires(std::is_arithmetic_v<T> || std::is_enum_v<T>) operator T()
      const;  // NOLINT: that it converts is its purpose
};
template <class Row, class... Values>
constexpr std::size_t values_in() {
  if constexpr (requires { Row{Values{}..., AnyValue{}}; })
    return values_in<Row, Values..., AnyValue>();
  else
    return sizeof...(Values);
}
template <class Row>
std::size_t fields_written() {
  std::size_t count = 0;
  fields_of(Row{}, [&](std::string_view, const auto&) { ++count; });
  return count;
}

TEST(RecordingJson, HasEveryFieldOfEveryRow) {
  std::size_t tables = 0;
  tables_of(model::Profile(), [&](std::string_view name, const auto& rows) {
    using Row = typename std::decay_t<decltype(rows)>::value_type;
    ++tables;
    if constexpr (!std::is_same_v<Row, model::Series>) {
      EXPECT_EQ(fields_written<Row>(), values_in<Row>()) << name;
    }
  });
  EXPECT_EQ(tables, 25U);
  EXPECT_EQ(fields_written<model::EarlyEnd>(), values_in<model::EarlyEnd>());
  // Rows with lists in them are taken apart by hand: this does not compile when one has another field.
  const model::Series series{};
  const auto& [name, unit, pid, points] = series;
  EXPECT_EQ(fields_written<model::Series>(), 4U) << name.value << unit.value << pid << points.size();
  const model::Quality quality{};
  const auto& [a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20, a21,
               a22, a23, a24, a25, a26, a27, a28] = quality;
  (void)a1, (void)a2, (void)a3, (void)a4, (void)a5, (void)a6, (void)a7, (void)a8, (void)a9, (void)a10;
  (void)a11, (void)a12, (void)a13, (void)a14, (void)a15, (void)a16, (void)a17, (void)a18, (void)a19;
  (void)a20, (void)a21, (void)a22, (void)a23, (void)a24, (void)a25, (void)a26, (void)a27, (void)a28;
  EXPECT_EQ(fields_written<model::Quality>(), 28U);
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
  Json of(const Optional<T>& field) const {
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
  const { return std::string(word_of(value)); }
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
    tables_of(profile, [&](std::string_view name, const auto& rows) {
      const Json& table = json.at(std::string(name));
      for (std::size_t i = 0; i < rows.size(); ++i)
        fields_of(rows[i], [&](std::string_view field, const auto& value) {
          ASSERT_EQ(table.at(std::string(field)).at(i), expected.of(value))
              << name << "." << field << " " << i;
        });
      for (const auto& [field, column] : table.items())
        EXPECT_EQ(column.size(), rows.size()) << name << field;
    });
    EXPECT_EQ(json.at("meta").at("start_ns"), profile.meta.start_ns);
    EXPECT_EQ(json.at("quality").at("samples"), profile.quality.samples);
  });
}

TEST(RecordingJson, TheLastValueOfEachEnumerationHasAWord) {
  EXPECT_EQ(word_of(model::ModuleKind::kNames), "names");
  EXPECT_EQ(word_of(model::SymbolSource::kGo), "go");
  EXPECT_EQ(word_of(model::ObjectKind::kProcess), "process");
  EXPECT_EQ(word_of(model::WaitState::kOther), "other");
  EXPECT_EQ(word_of(model::HeapMode::kExact), "exact");
  EXPECT_EQ(word_of(model::HookKind::kProbe), "probe");
  EXPECT_EQ(word_of(model::HeapHistogramKind::kAge), "age");
  EXPECT_EQ(word_of(model::MemoryKind::kNotSplit), "not split");
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
