#include "linux/process/maps.h"

#include <fmt/format.h>
#include <unistd.h>

#include "base/files.h"
#include "linux/process/fields.h"

namespace fathom::process {
namespace {

// "a-b", "a:b": two numbers in `base` around `separator`.
template <class T>
bool parse_pair(std::string_view text, char separator, int base, T& first, T& second) {
  const std::size_t middle = text.find(separator);
  if (middle == std::string_view::npos) return false;
  const auto a = parse_number<T>(text.substr(0, middle), base);
  const auto b = parse_number<T>(text.substr(middle + 1), base);
  if (!a || !b) return false;
  first = *a;
  second = *b;
  return true;
}

// Only newlines are escaped in this file, and backslashes are not: "\n" in a path is a backslash and an n.
std::string path_of(std::string_view text) {
  std::string path(text);
  for (std::size_t at = path.find("\\012"); at != std::string::npos; at = path.find("\\012", at + 1))
    path.replace(at, 4, "\n");
  return path;
}

bool parse_line(std::string_view line, MapEntry& entry) {
  if (!parse_pair(next_field(line), '-', 16, entry.start.value, entry.end.value)) return false;
  if (entry.end < entry.start) return false;
  const std::string_view permissions = next_field(line);
  if (permissions.size() != 4) return false;
  entry.readable = permissions[0] == 'r';
  entry.writable = permissions[1] == 'w';
  entry.executable = permissions[2] == 'x';
  entry.shared = permissions[3] == 's';
  const auto offset = parse_number(next_field(line), 16);
  if (!offset) return false;
  entry.offset.value = *offset;
  if (!parse_pair(next_field(line), ':', 16, entry.device_major, entry.device_minor)) return false;
  const auto inode = parse_number(next_field(line));
  if (!inode) return false;
  entry.inode = *inode;
  skip_blanks(line);  // the kernel fills up to column 73; all names begin with '/', '[' or a letter
  entry.path = path_of(line);
  entry.deleted = entry.inode != 0 && strip_deleted(entry.path);
  return true;
}

}  // namespace

bool strip_deleted(std::string& path) {
  constexpr std::string_view kSuffix = " (deleted)";
  if (!path.ends_with(kSuffix)) return false;
  path.resize(path.size() - kSuffix.size());
  return true;
}

Result<std::vector<MapEntry>> parse_maps(std::string_view text) {
  std::vector<MapEntry> entries;
  std::string_view line;
  while (next_line(text, line)) {
    MapEntry entry;
    if (!parse_line(line, entry))
      return fail(ErrorKind::kMalformed, fmt::format("line {} is not a mapping", entries.size() + 1));
    entries.push_back(std::move(entry));
  }
  return entries;
}

Result<std::vector<MapEntry>> read_maps(int pid) {
  const std::string path = fmt::format("/proc/{}/maps", pid);
  auto text = read_file(path);
  if (!text) {
    // Newer kernels answer ESRCH for a process without memory (a zombie, a kernel thread), older ones an
    // empty file.
    if (text.error().kind == ErrorKind::kNotFound &&
        ::access(fmt::format("/proc/{}/stat", pid).c_str(), F_OK) == 0)
      return std::vector<MapEntry>{};
    return tl::unexpected(text.error());
  }
  auto entries = parse_maps(*text);
  if (!entries) return within(path, entries.error());
  return entries;
}

std::string map_files_path(int pid, const MapEntry& entry) {
  return fmt::format("/proc/{}/map_files/{:x}-{:x}", pid, entry.start.value, entry.end.value);
}

}  // namespace fathom::process
