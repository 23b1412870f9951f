#include "model/fields.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>
#include <string>

#include "model/facts.h"
#include "model/fields/references.h"
#include "model/fields/words.h"
#include "model/random_profile.h"

namespace fathom::model {
namespace {

// The number of values in a struct, including those of structs inside it: as many as braces can give.
struct AnyValue {
  template <class T>
  requires(std::is_arithmetic_v<T> || std::is_enum_v<T>) operator T()
      const;  // NOLINT: it converts on purpose
};
template <class Row, class... Values>
constexpr std::size_t values_in() {
  if constexpr (requires { Row{Values{}..., AnyValue{}}; })
    return values_in<Row, Values..., AnyValue>();
  else
    return sizeof...(Values);
}
template <class Row>
std::size_t fields_listed() {
  std::size_t count = 0;
  const Row row{};
  fields_of([&](const Field&, const auto&) { ++count; }, row);
  return count;
}

TEST(Fields, ListEveryFieldOfEveryRow) {
  const Profile profile;
  std::size_t tables = 0;
  const auto compare = [&](const Table& table, const auto& rows) {
    using Row = typename std::decay_t<decltype(rows)>::value_type;
    ++tables;
    if constexpr (!std::is_same_v<Row, Series>) {
      EXPECT_EQ(fields_listed<Row>(), values_in<Row>()) << table.name;
    }
  };
  tables_of(compare, profile);
  EXPECT_EQ(tables, 26U);
  EXPECT_EQ(fields_listed<EarlyEnd>(), values_in<EarlyEnd>());
  EXPECT_EQ(fields_listed<HeapBlock>(), values_in<HeapBlock>());
  // Rows with lists in them are taken apart by hand: this does not compile when one has another field.
  const Series series{};
  const auto& [name, unit, pid, points] = series;
  EXPECT_EQ(fields_listed<Series>(), 4U) << name.value << unit.value << pid << points.size();
  const Quality quality{};
  const auto& [a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20, a21,
               a22, a23, a24, a25, a26, a27, a28] = quality;
  (void)a1, (void)a2, (void)a3, (void)a4, (void)a5, (void)a6, (void)a7, (void)a8, (void)a9, (void)a10;
  (void)a11, (void)a12, (void)a13, (void)a14, (void)a15, (void)a16, (void)a17, (void)a18, (void)a19;
  (void)a20, (void)a21, (void)a22, (void)a23, (void)a24, (void)a25, (void)a26, (void)a27, (void)a28;
  EXPECT_EQ(fields_listed<Quality>(), 28U);
}

// A field that stands twice in its list, instead of another one, would go unnoticed by a count.
TEST(Fields, OfOneRowAreDifferentPlacesWithDifferentNames) {
  const Profile profile;
  const auto compare = [&](const Table& table, const auto& rows) {
    const typename std::decay_t<decltype(rows)>::value_type row{};
    std::set<std::string_view> names;
    std::set<const void*> places;
    std::size_t count = 0;
    const auto add = [&]<class T>(const Field& field, const T& value) {
      ++count;
      names.insert(field.name);
      if constexpr (requires { value.none; })
        places.insert(&value.value);
      else if constexpr (requires { value.value; })
        places.insert(&value.value);
      else
        places.insert(&value);
    };
    fields_of(add, row);
    EXPECT_EQ(names.size(), count) << table.name;
    EXPECT_EQ(places.size(), count) << table.name;
  };
  tables_of(compare, profile);
}

TEST(Fields, CountersOfQualityHaveANumberOfTheirOwn) {
  std::set<unsigned> numbers;
  const Quality quality;
  fields_of(
      [&](const Field& field, const auto& value) {
        if constexpr (std::is_arithmetic_v<std::decay_t<decltype(value)>>) {
          EXPECT_NE(field.storage.number, 0u) << field.name;
          EXPECT_TRUE(numbers.insert(field.storage.number).second) << field.name;
        }
      },
      quality);
  EXPECT_EQ(*numbers.rbegin(), numbers.size()) << "numbers have no gap";
}

TEST(Fields, EveryEnumeratorHasAWordAndTheNextValueHasNone) {
  const auto expect = [](auto last, std::string_view word) {
    EXPECT_EQ(word_of(last), word);
    const auto beyond = static_cast<decltype(last)>(static_cast<int>(last) + 1);
    EXPECT_FALSE(is_known(beyond));
    EXPECT_EQ(word_of(beyond), "unknown");
  };
  expect(ModuleKind::kNames, "names");
  expect(SymbolSource::kGo, "go");
  expect(ObjectKind::kProcess, "process");
  expect(WaitState::kOther, "other");
  expect(HeapMode::kExact, "exact");
  expect(HookKind::kProbe, "probe");
  expect(HeapHistogramKind::kAge, "age");
  expect(MemoryKind::kNotSplit, "not split");
  for (int metric = 0; metric <= static_cast<int>(kLastSampleMetric); ++metric)
    EXPECT_EQ(word_of(static_cast<Metric>(metric)), to_string(static_cast<Metric>(metric)));
  EXPECT_FALSE(is_known(static_cast<Metric>(static_cast<int>(kLastSampleMetric) + 1)));
}

// --- docs/recording-fields.md ---
struct TypeWords {
  const Profile& profile;
  static std::string of(StringId) { return "text"; }
  template <class Tag>
  std::string of(Id<Tag> id) const {
    return "row of `" + std::string(reference_of(profile, id).table) + "`";
  }
  template <class T>
  std::string of(const Optional<T>& field) const {
    return of(field.value) + ", or null";
  }
  static std::string of(const std::vector<Point>&) { return "list"; }
  static std::string of(const std::vector<EarlyEnd>&) { return "list"; }
  static std::string of(const std::vector<std::string>&) { return "list of texts"; }
  template <class T>
  std::string of(const std::optional<T>& value) const {
    return of(value.value_or(T{}));
  }
  static std::string of(const std::string&) { return "text"; }
  static std::string of(Flag flag) { return "`" + std::string(flag.text) + "`"; }
  static std::string of(bool) { return "true or false"; }
  static std::string of(double) { return "number"; }
  template <class Enum>
  requires std::is_enum_v<Enum>
  static std::string of(Enum) {
    std::string words;
    for (const std::string_view word : Words<Enum>::kAll)
      words += (words.empty() ? "`" : ", `") + std::string(word) + "`";
    return words;
  }
  template <class Integer>
  requires std::is_integral_v<Integer>
  static std::string of(Integer) { return "integer"; }
};

template <class Row>
void describe(std::ostream& out, std::string_view name, std::string_view what, const Row& row) {
  const Profile profile;
  out << "\n## `" << name << "`\n\n" << what << "\n\n| field | value | |\n|---|---|---|\n";
  fields_of(
      [&](const Field& field, const auto& value) {
        out << "| `" << field.name << "` | " << TypeWords{profile}.of(value) << " | " << field.what
            << (field.what.empty() ? "|\n" : " |\n");
      },
      row);
}

std::string documentation() {
  std::ostringstream out;
  out << "# Tables and fields of a recording\n\n"
         "The [JSON](recording-json.md) and [SQL](sql.md) of a recording have these tables and fields, and the\n"
         "[file](format.md) stores them. This page is generated from `src/model/fields.h` by its test\n"
         "(`BLESS=1`). Times are nanoseconds of CLOCK_MONOTONIC. A value without a description is what its name says.\n";
  const Profile profile;
  const auto add = [&](const Table& table, const auto& rows) {
    describe(out, table.name, "A row is " + std::string(table.what) + ".",
             typename std::decay_t<decltype(rows)>::value_type{});
  };
  tables_of(add, profile);
  describe(out, "quality", "What arrived, what was lost, and what could not be seen.", Quality{});
  describe(out, "quality.early_ends", "A row is a reason and a module.", EarlyEnd{});
  out << "\n## `meta.facts`\n\nKeys and texts, all of them optional. [format.md](format.md#facts) lists those of single processes.\n\n"
         "| key | text | |\n|---|---|---|\n";
  each_kind_of_fact([&](auto row) {
    fields_of(
        [&](const Field& field, auto&& value) {
          out << "| `" << field.name << "` | " << TypeWords{profile}.of(value) << " | " << field.what
              << " |\n";
        },
        row);
  });
  return out.str();
}

TEST(Fields, DocumentationHasEveryTableAndField) {
  constexpr const char* kPath = "../../docs/recording-fields.md";
  if (const char* bless = std::getenv("BLESS"); bless != nullptr && std::string_view(bless) == "1")
    std::ofstream(kPath) << documentation();
  std::ifstream file(kPath);
  std::stringstream written;
  written << file.rdbuf();
  EXPECT_EQ(written.str(), documentation()) << "BLESS=1 writes docs/recording-fields.md";
}

}  // namespace
}  // namespace fathom::model
