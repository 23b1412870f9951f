#include "present/exports/recording_json.h"

#include <utility>
#include <vector>

#include "model/fields.h"
#include "model/fields/words.h"
#include "present/exports/json_text.h"

namespace fathom::present {
namespace {

constexpr std::size_t kJsonPiece = std::size_t{1} << 20;

class RecordingJsonWriter {
 public:
  RecordingJsonWriter(const model::Profile& profile, const std::function<void(std::string_view)>& take)
      : profile_(profile), take_(take) {}

  void write(std::string_view version) {
    out_ = R"({"format":"fathom recording","version":)";
    append_number(out_, kRecordingJsonVersion);
    out_ += R"(,"fathom":)";
    append_json_text(out_, version);
    out_ += ",\n\"meta\":";
    write_meta();
    out_ += ",\n\"quality\":{";
    write_fields(profile_.quality);
    out_ += '}';
    model::tables_of([this](const model::Table& table, const auto& rows) { write_table(table.name, rows); },
                     profile_);
    out_ += "}\n";
    take_(out_);
  }

 private:
  void write_meta() {
    const model::Meta& meta = profile_.meta;
    out_ += R"({"target":)";
    append_json_text(out_, meta.target);
    out_ += R"(,"engine":)";
    append_json_text(out_, meta.engine);
    out_ += R"(,"event":)";
    append_json_text(out_, meta.event);
    fmt::format_to(std::back_inserter(out_),
                   R"(,"frequency_hz":{},"start_ns":{},"end_ns":{},"start_unix_ns":{},"facts":{{)",
                   meta.frequency_hz, meta.start_ns, meta.end_ns, meta.start_unix_ns);
    bool first = true;
    for (const auto& [key, value] : meta.facts) {
      if (!std::exchange(first, false)) out_ += ',';
      append_json_text(out_, key);
      out_ += ':';
      append_json_text(out_, value);
    }
    out_ += "}}";
  }

  template <class Row>
  void write_fields(const Row& row) {
    bool first = true;
    model::fields_of(
        [&](const model::Field& field, const auto& value) {
          if (!std::exchange(first, false)) out_ += ',';
          key(field.name);
          append(value);
        },
        row);
  }

  void key(std::string_view name) {
    out_ += '"';
    out_ += name;
    out_ += "\":";
  }

  // {"name":[...],"name":[...]}: a column at a time. An empty table has its columns, too.
  template <class Row>
  void write_table(std::string_view name, const std::vector<Row>& rows) {
    out_ += ",\n";
    key(name);
    out_ += '{';
    const Row empty{};
    std::size_t columns = 0;
    model::fields_of([&](const model::Field&, const auto&) { ++columns; }, empty);
    for (std::size_t column = 0; column < columns; ++column) {
      if (column != 0) out_ += ',';
      write_column(rows, empty, column);
    }
    out_ += '}';
  }

  template <class Row>
  void write_column(const std::vector<Row>& rows, const Row& empty, std::size_t column) {
    std::size_t at = 0;
    model::fields_of(
        [&](const model::Field& field, const auto&) {
          if (at++ == column) key(field.name);
        },
        empty);
    out_ += '[';
    bool first = true;
    for (const Row& row : rows) {
      if (!std::exchange(first, false)) out_ += ',';
      at = 0;
      model::fields_of(
          [&](const model::Field&, const auto& value) {
            if (at++ == column) append(value);
          },
          row);
      if (out_.size() >= kJsonPiece) {
        take_(out_);
        out_.clear();
      }
    }
    out_ += ']';
  }

  void append(model::StringId text) { append_json_text(out_, profile_.strings[text]); }
  template <class Tag>
  void append(model::Id<Tag> row) {
    append_number(out_, row.value);
  }
  template <class T>
  void append(const model::Optional<T>& field) {
    if (field.value == field.none)
      out_ += "null";
    else
      append(field.value);
  }
  void append(const std::vector<model::Point>& points) {
    append_list(out_, points, [](std::string& to, const model::Point& point) {
      to += '[';
      append_number(to, point.time_ns);
      to += ',';
      append_number(to, point.value);
      to += ']';
    });
  }
  void append(const std::vector<std::string>& texts) {
    append_list(out_, texts, [](std::string& to, const std::string& text) { append_json_text(to, text); });
  }
  void append(const std::vector<model::EarlyEnd>& ends) {
    out_ += '[';
    bool first = true;
    for (const model::EarlyEnd& end : ends) {
      out_ += std::exchange(first, false) ? "{" : ",{";
      write_fields(end);
      out_ += '}';
    }
    out_ += ']';
  }
  void append(bool value) { out_ += value ? "true" : "false"; }
  template <class Value>
  requires std::is_enum_v<Value>
  void append(Value value) {
    out_ += '"';
    out_ += model::word_of(value);
    out_ += '"';
  }
  template <class Value>
  requires(std::is_arithmetic_v<Value> && !std::is_same_v<Value, bool>) void append(Value value) {
    append_number(out_, value);
  }

  const model::Profile& profile_;
  const std::function<void(std::string_view)>& take_;
  std::string out_;
};

}  // namespace

void write_recording_json(const model::Profile& profile, std::string_view version,
                          const std::function<void(std::string_view)>& take) {
  RecordingJsonWriter(profile, take).write(version);
}

}  // namespace fathom::present
