// How a recording names what the page cache held of a mapped file over time: series "file.KIND{PATH}", in bytes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace fathom::model {

struct FileSeries {
  std::string_view kind;  // "cached", "dirty", "evicted", "size"
  std::string_view path;
};

inline std::string file_series_name(std::string_view kind, std::string_view path) {
  return "file." + std::string(kind) + "{" + std::string(path) + "}";
}

// nullopt: it is another series. The text lives as long as `name`.
inline std::optional<FileSeries> parse_file_series_name(std::string_view name) {
  constexpr std::string_view kPrefix = "file.";
  if (!name.starts_with(kPrefix) || !name.ends_with("}")) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  const std::size_t brace = name.find('{');
  if (brace == std::string_view::npos) return std::nullopt;
  return FileSeries{name.substr(0, brace), name.substr(brace + 1, name.size() - brace - 2)};
}

}  // namespace fathom::model
