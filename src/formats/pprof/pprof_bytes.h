// For tests: profiles of pprof made field by field.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fathom::formats {

inline std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>((value & 0x7f) | 0x80);
  return bytes + static_cast<char>(value);
}
inline std::string number_field(std::uint32_t field, std::uint64_t value) {
  return varint(field << 3) + varint(value);
}
inline std::string bytes_field(std::uint32_t field, std::string_view bytes) {
  return varint(field << 3 | 2) + varint(bytes.size()) + std::string(bytes);
}

// Texts are numbered as they come; strings() belongs at the end, where Go writes it, too.
class PprofBytes {
 public:
  std::uint64_t text(std::string_view value) {
    for (std::size_t i = 0; i < texts_.size(); ++i)
      if (texts_[i] == value) return i;
    texts_.emplace_back(value);
    return texts_.size() - 1;
  }
  PprofBytes& type(std::string_view type, std::string_view unit) { return add(1, value_type(type, unit)); }
  PprofBytes& period(std::string_view type, std::string_view unit, std::uint64_t value) {
    add(11, value_type(type, unit));
    bytes_ += number_field(12, value);
    return *this;
  }
  PprofBytes& mapping(std::uint64_t id, std::uint64_t start, std::string_view path,
                      std::string_view build_id = {}) {
    return add(3, number_field(1, id) + number_field(2, start) + number_field(3, start + 0x10000) +
                      number_field(5, text(path)) + number_field(6, text(build_id)) + number_field(7, 1));
  }
  PprofBytes& function(std::uint64_t id, std::string_view name, std::string_view file = {}) {
    return add(5, number_field(1, id) + number_field(2, text(name)) + number_field(4, text(file)));
  }
  // Functions with the line in each, innermost first.
  PprofBytes& location(std::uint64_t id, const std::vector<std::pair<std::uint64_t, std::uint64_t>>& lines,
                       std::uint64_t mapping = 0, std::uint64_t address = 0) {
    std::string row = number_field(1, id) + number_field(2, mapping) + number_field(3, address);
    for (const auto& [function, line] : lines)
      row += bytes_field(4, number_field(1, function) + number_field(2, line));
    return add(4, row);
  }
  std::string text_label(std::string_view key, std::string_view value) {
    return bytes_field(3, number_field(1, text(key)) + number_field(2, text(value)));
  }
  std::string number_label(std::string_view key, std::uint64_t value) {
    return bytes_field(3, number_field(1, text(key)) + number_field(3, value));
  }
  PprofBytes& sample(const std::vector<std::uint64_t>& locations, const std::vector<std::int64_t>& values,
                     const std::string& labels = {}) {
    std::string packed_locations, packed_values;
    for (const std::uint64_t id : locations) packed_locations += varint(id);
    for (const std::int64_t value : values) packed_values += varint(static_cast<std::uint64_t>(value));
    return add(2, bytes_field(1, packed_locations) + bytes_field(2, packed_values) + labels);
  }
  PprofBytes& add(std::uint32_t field, std::string_view row) {
    bytes_ += bytes_field(field, row);
    return *this;
  }
  PprofBytes& number(std::uint32_t field, std::uint64_t value) {
    bytes_ += number_field(field, value);
    return *this;
  }
  std::string bytes() const {
    std::string all = bytes_;
    for (const std::string& text : texts_) all += bytes_field(6, text);
    return all;
  }

 private:
  std::string value_type(std::string_view type, std::string_view unit) {
    return number_field(1, text(type)) + number_field(2, text(unit));
  }
  std::vector<std::string> texts_{""};
  std::string bytes_;
};

}  // namespace fathom::formats
