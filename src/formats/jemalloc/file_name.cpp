#include "formats/jemalloc/file_name.h"

#include "base/parse.h"

namespace fathom::formats {
namespace {

template <class T>
bool read_whole(std::string_view text, T& value) {
  const auto number = text.starts_with('-') ? std::nullopt : parse_number<T>(text);
  value = number.value_or(0);
  return number.has_value();
}

// Cuts what is behind the last dot off.
std::string_view take_last(std::string_view& text) {
  const std::size_t dot = text.rfind('.');
  if (dot == std::string_view::npos) return {};
  const std::string_view last = text.substr(dot + 1);
  text = text.substr(0, dot);
  return last;
}

}  // namespace

std::optional<DumpName> parse_dump_name(std::string_view path) {
  DumpName name;
  if (take_last(path) != "heap") return std::nullopt;
  const std::string_view kind = take_last(path);
  if (kind.empty() || std::string_view("imuf").find(kind[0]) == std::string_view::npos) return std::nullopt;
  name.trigger = static_cast<DumpTrigger>(kind[0]);
  if (kind.size() > 1 && !read_whole(kind.substr(1), name.number)) return std::nullopt;
  if (kind.size() == 1 && name.trigger != DumpTrigger::kFinal) return std::nullopt;
  if (!read_whole(take_last(path), name.sequence) || !read_whole(take_last(path), name.pid))
    return std::nullopt;
  name.prefix = path;
  return name;
}

std::string_view words_of(DumpTrigger trigger) {
  switch (trigger) {
    case DumpTrigger::kInterval:
      return "so many bytes were allocated (lg_prof_interval)";
    case DumpTrigger::kManual:
      return "the program requested it (prof.dump)";
    case DumpTrigger::kHighWater:
      return "more memory was mapped than ever before (prof_gdump)";
    case DumpTrigger::kFinal:
      return "the process ended (prof_final), after it had cleaned up";
  }
  return "";
}

}  // namespace fathom::formats
