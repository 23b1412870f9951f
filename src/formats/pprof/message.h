// The tables of a pprof profile as they stand in the file, not yet judged. Source: profile.proto of the pprof project.
// Views into the bytes of the file, which outlive it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"

namespace fathom::formats {

struct PprofMessage {
  struct ValueType {
    std::string_view type, unit;  // "inuse_space", "bytes"
  };
  struct Mapping {
    std::uint64_t start = 0, limit = 0, file_offset = 0;
    std::string_view path, build_id;
    bool has_functions = false, has_lines = false;
  };
  struct Function {
    std::string_view name, file;
  };
  struct Line {
    std::uint64_t function_id = 0;
    std::int64_t line = 0;
  };
  struct Location {
    std::uint64_t mapping_id = 0, address = 0;
    std::vector<Line> lines;  // innermost first
  };
  struct Label {
    std::string_view key, text, unit;
    std::int64_t number = 0;
    bool is_text = false;
  };
  struct Sample {
    std::vector<std::uint64_t> location_ids;  // leaf first
    std::vector<std::int64_t> values;         // one for each of `types`
    std::vector<Label> labels;
  };

  std::vector<ValueType> types;
  std::vector<std::string_view> samples;  // each is taken apart by sample_of
  std::vector<Mapping> mappings;
  std::unordered_map<std::uint64_t, std::uint32_t> mapping_rows;  // by their ids in the file
  std::unordered_map<std::uint64_t, Location> locations;
  std::unordered_map<std::uint64_t, Function> functions;
  std::vector<std::string_view> strings, comments;
  ValueType period_type;
  std::int64_t period = 0, time_unix_ns = 0, duration_ns = 0;
  std::string_view default_type;

  // "" for a number that no string has.
  std::string_view text(std::uint64_t number) const {
    return number < strings.size() ? strings[static_cast<std::size_t>(number)] : std::string_view();
  }
  // false where its bytes are damaged. `into` is overwritten, so that its room is used again.
  bool sample_of(std::string_view bytes, Sample& into) const;
};

// Whether these bytes can be nothing else: a message whose fields are those of a profile, with a table of texts that begins
// with the empty one. A profile that was cut short is one, too.
bool is_pprof(std::string_view bytes);

// kMalformed, with what is damaged. `name` is the file's, for messages.
Result<PprofMessage> read_pprof_message(std::string_view bytes, const std::string& name);

}  // namespace fathom::formats
