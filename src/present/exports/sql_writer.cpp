#include "present/exports/sql_writer.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "analysis/core/words.h"
#include "model/fields.h"
#include "model/fields/words.h"
#include "present/exports/json_text.h"

namespace fathom::present {
namespace {

constexpr std::size_t kSqlPiece = std::size_t{1} << 20;
// So many bytes of rows has one statement: a thousandth of what SQLite takes, and few enough to be parsed at once.
constexpr std::size_t kStatement = 100'000;

// What the tables do not say by themselves: names of frames, and which functions stand on a stack.
constexpr std::string_view kViews = R"(
-- A row for each call that stands at a place: where functions are inlined several, the innermost first (inlined 0).
CREATE VIEW frame_calls AS
SELECT f.id AS frame, l.id - f.first_line AS inlined, fn.name AS function, m.name AS module, s.name AS file, l.line AS line
FROM frames f
JOIN lines l ON l.id >= f.first_line AND l.id < f.first_line + f.line_count
JOIN functions fn ON fn.id = l.function
JOIN modules m ON m.id = fn.module
JOIN files s ON s.id = l.file
UNION ALL
SELECT f.id, 0, '[' || m.name || ']', m.name, '', 0
FROM frames f JOIN modules m ON m.id = f.module WHERE f.line_count = 0;

-- A row for each call on a stack, the leaf at depth 0.
CREATE VIEW stack_calls AS
WITH RECURSIVE up(stack, here, depth) AS (
  SELECT id, id, 0 FROM stacks WHERE id > 0
  UNION ALL
  SELECT up.stack, s.parent, up.depth + 1 FROM up JOIN stacks s ON s.id = up.here WHERE s.parent > 0)
SELECT up.stack, up.depth, c.inlined, c.function, c.module, c.file, c.line
FROM up JOIN stacks s ON s.id = up.here JOIN frame_calls c ON c.frame = s.frame;

-- The innermost call of each stack.
CREATE VIEW leaves AS
SELECT s.id AS stack, c.function, c.module, c.file, c.line
FROM stacks s JOIN frame_calls c ON c.frame = s.frame AND c.inlined = 0 WHERE s.id > 0;

-- What each site of a heap allocated, freed and still has. Sums of sampled heaps are estimates.
CREATE VIEW heap_site_sums AS
SELECT s.id AS site, s.heap, s.stack, a.label AS allocator,
       SUM(r.allocated_blocks) AS allocated_blocks, SUM(r.allocated_bytes) AS allocated_bytes,
       SUM(r.freed_blocks) AS freed_blocks, SUM(r.freed_bytes) AS freed_bytes,
       SUM(r.allocated_blocks) - SUM(r.freed_blocks) AS live_blocks, SUM(r.allocated_bytes) - SUM(r.freed_bytes) AS live_bytes
FROM heap_sites s JOIN heap_rows r ON r.site = s.id JOIN heap_allocators a ON a.id = s.allocator
GROUP BY s.id, s.heap, s.stack, a.label;
)";

class SqlWriter {
 public:
  SqlWriter(const model::Profile& profile, const std::function<void(std::string_view)>& take)
      : profile_(profile), take_(take) {}

  void write(std::string_view version) {
    out_ = "-- A recording of fathom; docs/sql.md describes the tables. sqlite3 x.db <THIS FILE\nBEGIN;\n";
    write_meta(version);
    write_quality();
    write_files();
    model::tables_of([this](const model::Table& table, const auto& rows) { write_table(table.name, rows); },
                     profile_);
    write_points();
    out_ += kViews;
    out_ += "COMMIT;\n";
    take_(out_);
  }

 private:
  // One statement with as many rows as fit into it.
  class Rows {
   public:
    Rows(SqlWriter& writer, std::string_view table) : writer_(writer), table_(table) {}
    Rows(const Rows&) = delete;
    Rows& operator=(const Rows&) = delete;
    ~Rows() { end(); }
    // row() writes its values, separated by commas.
    template <class Row>
    void add(Row&& row) {
      std::string& out = writer_.out_;
      if (begun_ == 0) fmt::format_to(std::back_inserter(out), "INSERT INTO \"{}\" VALUES", table_);
      out += begun_++ == 0 ? "\n(" : ",\n(";
      const std::size_t from = out.size();
      row();
      out += ')';
      bytes_ += out.size() - from;
      if (bytes_ >= kStatement) end();
    }

   private:
    void end() {
      if (begun_ != 0) writer_.out_ += ";\n";
      begun_ = bytes_ = 0;
      writer_.give_away();
    }
    SqlWriter& writer_;
    std::string_view table_;
    std::size_t begun_ = 0, bytes_ = 0;
  };

  void give_away() {
    if (out_.size() < kSqlPiece) return;
    take_(out_);
    out_.clear();
  }

  void write_meta(std::string_view version) {
    const model::Meta& meta = profile_.meta;
    out_ += "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT);\n";
    Rows rows(*this, "meta");
    const auto add = [&](std::string_view key, const auto& value) {
      rows.add([&] {
        append_text(key);
        out_ += ',';
        append_text(fmt::format("{}", value));
      });
    };
    add("format", "fathom recording");
    add("version", kSqlVersion);
    add("fathom", version);
    add("target", meta.target);
    add("engine", meta.engine);
    add("event", meta.event);
    add("frequency_hz", meta.frequency_hz);
    add("start_ns", meta.start_ns);
    add("end_ns", meta.end_ns);
    add("start_unix_ns", meta.start_unix_ns);
    for (const auto& [key, value] : meta.facts) add("fact: " + key, value);
  }

  // One table has a row for each count, another the sentences, and a third where walks ended early.
  void write_quality() {
    out_ += "CREATE TABLE quality (name TEXT PRIMARY KEY, value DOUBLE PRECISION);\n";
    {
      Rows rows(*this, "quality");
      model::fields_of(
          [&](const model::Field& field, const auto& value) {
            if constexpr (std::is_arithmetic_v<std::decay_t<decltype(value)>>) {
              rows.add([&] {
                append_text(field.name);
                out_ += ',';
                append(value);
              });
            }
          },
          profile_.quality);
    }
    out_ += "CREATE TABLE notes (note TEXT);\n";
    {
      Rows rows(*this, "notes");
      for (const std::string& note : profile_.quality.notes) rows.add([&] { append_text(note); });
    }
    write_table("early_ends", profile_.quality.early_ends);
  }

  // Names of source files stand in many lines, and each once here.
  void write_files() {
    out_ += "CREATE TABLE files (id INTEGER PRIMARY KEY, name TEXT);\n";
    std::vector<bool> written(profile_.strings.size());
    Rows rows(*this, "files");
    for (const model::Line& line : profile_.lines) {
      if (written[line.file.value]) continue;
      written[line.file.value] = true;
      rows.add([&] {
        append_number(out_, line.file.value);
        out_ += ',';
        append(line.file);
      });
    }
  }

  void write_points() {
    out_ += "CREATE TABLE series_points (series INTEGER, time_ns BIGINT, value DOUBLE PRECISION);\n";
    Rows rows(*this, "series_points");
    for (std::size_t i = 0; i < profile_.series.size(); ++i)
      for (const model::Point& point : profile_.series[i].points)
        rows.add([&] {
          append_number(out_, i);
          out_ += ',';
          append(point.time_ns);
          out_ += ',';
          append(point.value);
        });
  }

  template <class Row>
  void write_table(std::string_view name, const std::vector<Row>& table) {
    fmt::format_to(std::back_inserter(out_), "CREATE TABLE \"{}\" (id INTEGER PRIMARY KEY", name);
    each_column(Row{}, [&](std::string_view column, const auto& value) {
      fmt::format_to(std::back_inserter(out_), ", \"{}\" {}", column, type_of(value));
    });
    out_ += ");\n";
    Rows rows(*this, name);
    for (std::size_t i = 0; i < table.size(); ++i)
      rows.add([&] {
        append_number(out_, i);
        each_column(table[i], [&](std::string_view, const auto& value) {
          out_ += ',';
          append(value);
        });
      });
  }

  // Points of series have a table of their own, and lines name their file by its number.
  template <class Row, class Column>
  static void each_column(const Row& row, Column&& column) {
    model::fields_of(
        [&](const model::Field& field, const auto& value) {
          using Value = std::decay_t<decltype(value)>;
          if constexpr (std::is_same_v<Value, std::vector<model::Point>>)
            return;
          else if constexpr (std::is_same_v<Row, model::Line> && std::is_same_v<Value, model::StringId>)
            column(field.name, value.value);
          else
            column(field.name, value);
        },
        row);
  }

  static std::string_view type_of(model::StringId) { return "TEXT"; }
  template <class Tag>
  static std::string_view type_of(model::Id<Tag>) {
    return "INTEGER";
  }
  template <class T>
  static std::string_view type_of(const model::Optional<T>& field) {
    return type_of(field.value);
  }
  template <class Value>
  requires(std::is_arithmetic_v<Value> || std::is_enum_v<Value>) static std::string_view type_of(Value) {
    if constexpr (std::is_enum_v<Value>) return "TEXT";
    if constexpr (std::is_floating_point_v<Value>) return "DOUBLE PRECISION";
    return sizeof(Value) < 4 || (sizeof(Value) == 4 && std::is_signed_v<Value>) ? "INTEGER" : "BIGINT";
  }

  void append_text(std::string_view raw) {
    out_ += '\'';
    for (const char c : analysis::printable(raw)) {
      if (c == '\'') out_ += '\'';
      out_ += c;
    }
    out_ += '\'';
  }
  void append(model::StringId text) { append_text(profile_.strings[text]); }
  template <class Tag>
  void append(model::Id<Tag> row) {
    append_number(out_, row.value);
  }
  template <class T>
  void append(const model::Optional<T>& field) {
    if (field.value == field.none)
      out_ += "NULL";
    else
      append(field.value);
  }
  template <class Value>
  requires(std::is_arithmetic_v<Value> || std::is_enum_v<Value>) void append(Value value) {
    if constexpr (std::is_enum_v<Value>)
      append_text(model::word_of(value));
    else if constexpr (std::is_same_v<Value, bool>)
      out_ += value ? '1' : '0';
    else if constexpr (std::is_same_v<Value, std::uint64_t>)
      append_number(out_, static_cast<std::int64_t>(value));  // databases have no other 64 bits
    else
      append_number(out_, value);
  }

  const model::Profile& profile_;
  const std::function<void(std::string_view)>& take_;
  std::string out_;
};

}  // namespace

void write_sql(const model::Profile& profile, std::string_view version,
               const std::function<void(std::string_view)>& take) {
  SqlWriter(profile, take).write(version);
}

}  // namespace fathom::present
