#include "formats/pprof/message.h"

#include <fmt/format.h>

#include "formats/import/import.h"
#include "formats/pprof/wire.h"

namespace fathom::formats {
namespace {

constexpr std::string_view kRemedy = "the profile as it was written, packed or not";

// Numbers of fields in profile.proto.
enum Field : std::uint32_t {
  kSampleType = 1,
  kSample = 2,
  kMapping = 3,
  kLocation = 4,
  kFunction = 5,
  kString = 6,
  kDropFrames = 7,
  kKeepFrames = 8,
  kTime = 9,
  kDuration = 10,
  kPeriodType = 11,
  kPeriod = 12,
  kComment = 13,
  kDefaultType = 14,
  kDocument = 15,
};

constexpr bool is_message(std::uint32_t field) {
  return (field >= kSampleType && field <= kString) || field == kPeriodType;
}

// Numbers that stand packed or one by one.
bool append_numbers(const WireFields& field, std::vector<std::uint64_t>& to, std::size_t most) {
  if (!field.is_bytes()) {
    if (to.size() < most) to.push_back(field.value());
    return true;
  }
  for (std::string_view rest = field.bytes(); !rest.empty();) {
    std::uint64_t value = 0;
    if (!take_varint(rest, value)) return false;
    if (to.size() < most) to.push_back(value);
  }
  return true;
}

// Texts stand behind the tables that name them, so tables are read into numbers first.
struct TypeNumbers {
  std::uint64_t type = 0, unit = 0;
};
bool read_type(std::string_view bytes, TypeNumbers& into) {
  WireFields fields(bytes);
  while (fields.next()) {
    if (fields.number() == 1) into.type = fields.value();
    if (fields.number() == 2) into.unit = fields.value();
  }
  return fields.ok();
}

bool read_line(std::string_view bytes, PprofMessage::Line& into) {
  WireFields fields(bytes);
  while (fields.next()) {
    if (fields.number() == 1) into.function_id = fields.value();
    if (fields.number() == 2) into.line = fields.signed_value();
  }
  return fields.ok();
}

bool read_location(std::string_view bytes, PprofMessage& into) {
  PprofMessage::Location row;
  std::uint64_t id = 0;
  WireFields fields(bytes);
  while (fields.next()) {
    if (fields.number() == 1) id = fields.value();
    if (fields.number() == 2) row.mapping_id = fields.value();
    if (fields.number() == 3) row.address = fields.value();
    if (fields.number() == 4 && row.lines.size() < kMostInlinedLines &&
        !read_line(fields.bytes(), row.lines.emplace_back()))
      return false;
  }
  if (!fields.ok()) return false;
  into.locations.try_emplace(id, std::move(row));
  return true;
}

bool read_mapping(std::string_view bytes, PprofMessage& into) {
  PprofMessage::Mapping row;
  std::uint64_t id = 0;
  WireFields fields(bytes);
  while (fields.next()) {
    if (fields.number() == 1) id = fields.value();
    if (fields.number() == 2) row.start = fields.value();
    if (fields.number() == 3) row.limit = fields.value();
    if (fields.number() == 4) row.file_offset = fields.value();
    if (fields.number() == 5) row.path = into.text(fields.value());
    if (fields.number() == 6) row.build_id = into.text(fields.value());
    if (fields.number() == 7) row.has_functions = fields.value() != 0;
    if (fields.number() == 9) row.has_lines = fields.value() != 0;
  }
  if (!fields.ok()) return false;
  if (into.mapping_rows.try_emplace(id, static_cast<std::uint32_t>(into.mappings.size())).second)
    into.mappings.push_back(row);
  return true;
}

bool read_function(std::string_view bytes, PprofMessage& into) {
  PprofMessage::Function row;
  std::string_view system_name;
  std::uint64_t id = 0;
  WireFields fields(bytes);
  while (fields.next()) {
    if (fields.number() == 1) id = fields.value();
    if (fields.number() == 2) row.name = into.text(fields.value());
    if (fields.number() == 3) system_name = into.text(fields.value());
    if (fields.number() == 4) row.file = into.text(fields.value());
  }
  if (!fields.ok()) return false;
  if (row.name.empty()) row.name = system_name;
  into.functions.try_emplace(id, row);
  return true;
}

bool read_label(std::string_view bytes, const PprofMessage& message, PprofMessage::Label& into) {
  WireFields fields(bytes);
  while (fields.next()) {
    if (fields.number() == 1) into.key = message.text(fields.value());
    if (fields.number() == 2) {
      into.text = message.text(fields.value());
      into.is_text = true;
    }
    if (fields.number() == 3) into.number = fields.signed_value();
    if (fields.number() == 4) into.unit = message.text(fields.value());
  }
  return fields.ok();
}

}  // namespace

bool PprofMessage::sample_of(std::string_view bytes, Sample& into) const {
  into.location_ids.clear();
  into.values.clear();
  into.labels.clear();
  std::vector<std::uint64_t> values;
  WireFields fields(bytes);
  while (fields.next()) {
    if (fields.number() == 1 && !append_numbers(fields, into.location_ids, kMostImportedFrames)) return false;
    if (fields.number() == 2 && !append_numbers(fields, values, types.size())) return false;
    if (fields.number() == 3 && !read_label(fields.bytes(), *this, into.labels.emplace_back())) return false;
  }
  for (const std::uint64_t value : values) into.values.push_back(static_cast<std::int64_t>(value));
  return fields.ok();
}

bool is_pprof(std::string_view bytes) {
  WireFields fields(bytes);
  bool has_type = false, has_text = false;
  while (fields.next()) {
    const std::uint32_t number = fields.number();
    if (number == 0 || number > kDocument) return false;
    const bool packed = number == kComment && fields.is_bytes();  // its numbers
    if (fields.is_bytes() != is_message(number) && !packed) return false;
    if (number == kSampleType || number == kPeriodType) {
      TypeNumbers type;
      if (fields.bytes().size() > 22 || !read_type(fields.bytes(), type)) return false;
      has_type = true;
    }
    if (number == kString && !has_text) {
      if (!fields.bytes().empty()) return false;
      has_text = true;
    }
  }
  return has_type && (has_text || !fields.ok());
}

Result<PprofMessage> read_pprof_message(std::string_view bytes, const std::string& name) {
  const auto wrong = [&](std::string_view what) {
    return fail(ErrorKind::kMalformed, fmt::format("{}: pprof profile: {}", name, what),
                std::string(kRemedy));
  };
  PprofMessage message;
  TypeNumbers period;
  std::vector<TypeNumbers> types;
  std::vector<std::uint64_t> comments;
  std::uint64_t default_type = 0;
  WireFields fields(bytes);
  // What the others name stands anywhere.
  while (fields.next()) {
    switch (fields.number()) {
      case kSampleType:
        if (!read_type(fields.bytes(), types.emplace_back())) return wrong("a damaged type of values");
        break;
      case kSample:
        message.samples.push_back(fields.bytes());
        break;
      case kString:
        message.strings.push_back(fields.bytes());
        break;
      case kTime:
        message.time_unix_ns = fields.signed_value();
        break;
      case kDuration:
        message.duration_ns = fields.signed_value();
        break;
      case kPeriodType:
        if (!read_type(fields.bytes(), period)) return wrong("a damaged type of its period");
        break;
      case kPeriod:
        message.period = fields.signed_value();
        break;
      case kComment:
        if (!append_numbers(fields, comments, 100)) return wrong("a damaged comment");
        break;
      case kDefaultType:
        default_type = fields.value();
        break;
      default:
        break;
    }
  }
  if (!fields.ok()) return wrong("the file ends before the profile does");
  if (types.empty()) return wrong("it does not state its unit");
  if (types.size() > 64) return wrong("more than 64 kinds of values");
  for (const TypeNumbers& type : types)
    message.types.push_back({message.text(type.type), message.text(type.unit)});
  message.period_type = {message.text(period.type), message.text(period.unit)};
  message.default_type = message.text(default_type);
  for (const std::uint64_t comment : comments) message.comments.push_back(message.text(comment));

  WireFields again(bytes);
  while (again.next()) {
    if (again.number() == kMapping && !read_mapping(again.bytes(), message))
      return wrong("a damaged mapping");
    if (again.number() == kLocation && !read_location(again.bytes(), message))
      return wrong("a damaged location");
    if (again.number() == kFunction && !read_function(again.bytes(), message))
      return wrong("a damaged function");
  }
  return message;
}

}  // namespace fathom::formats
