#include "process/perf_map.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <optional>

#include "base/fd.h"
#include "base/files.h"
#include "process/fields.h"
#include "process/status.h"

namespace fathom::process {
namespace {

constexpr off_t kMaxSize = off_t{256}
                           << 20;  // node writes some 100 bytes for each function: two million functions

std::optional<std::uint64_t> parse_hex(std::string_view text) {
  if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
  return parse_number(text, 16);
}

std::optional<PerfMapEntry> parse_line(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  const auto start = parse_hex(next_field(line));
  const auto size = parse_hex(next_field(line));
  skip_blanks(line);
  if (!start || !size || *size == 0 || *start + *size < *start || line.empty()) return std::nullopt;
  return PerfMapEntry{{*start}, *size, std::string(line)};
}

}  // namespace

std::vector<PerfMapEntry> parse_perf_map(std::string_view text) {
  const std::size_t whole = text.rfind('\n');
  text = text.substr(0, whole == std::string_view::npos ? 0 : whole + 1);
  std::map<std::uint64_t, PerfMapEntry> live;  // by start
  std::string_view line;
  while (next_line(text, line)) {
    auto entry = parse_line(line);
    if (!entry) continue;
    const std::uint64_t start = entry->start.value;
    const std::uint64_t end = start + entry->size;
    auto next = live.lower_bound(start);
    if (next != live.begin()) {
      const auto before = std::prev(next);
      if (before->first + before->second.size > start) next = live.erase(before);
    }
    while (next != live.end() && next->first < end) next = live.erase(next);
    live.emplace_hint(next, start, std::move(*entry));
  }
  std::vector<PerfMapEntry> entries;
  entries.reserve(live.size());
  for (auto& [start, entry] : live) entries.push_back(std::move(entry));
  return entries;
}

std::string perf_map_path(int pid) {
  int own_pid = pid;
  if (auto status = read_status(pid); status && !status->namespace_pids.empty())
    own_pid = status->namespace_pids.back();
  return fmt::format("/proc/{}/root/tmp/perf-{}.map", pid, own_pid);
}

Result<Fd> open_perf_map(int pid) {
  auto status = read_status(pid);
  if (!status) return tl::unexpected(status.error());
  const std::string path = perf_map_path(pid);
  // O_NONBLOCK: a pipe of that name must not hold us up.
  Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!fd) return system_error(path, errno);
  struct stat file {};
  if (::fstat(fd.get(), &file) != 0) return system_error(path, errno);
  if (!S_ISREG(file.st_mode)) return fail(ErrorKind::kUnsupported, path + ": not a regular file");
  if (file.st_uid != 0 && file.st_uid != status->uid && file.st_uid != status->effective_uid)
    return fail(ErrorKind::kPermission, fmt::format("{}: belongs to user {}, and the process to user {}",
                                                    path, file.st_uid, status->uid));
  return fd;
}

Result<std::vector<PerfMapEntry>> read_perf_map(int pid) {
  const auto fd = open_perf_map(pid);
  if (!fd) return tl::unexpected(fd.error());
  return read_perf_map(*fd, perf_map_path(pid));
}

Result<std::vector<PerfMapEntry>> read_perf_map(const Fd& fd, const std::string& path) {
  struct stat file {};
  if (::fstat(fd.get(), &file) != 0) return system_error(path, errno);
  if (file.st_size > kMaxSize) return fail(ErrorKind::kUnsupported, path + ": longer than 256 MiB");
  std::string text(static_cast<std::size_t>(file.st_size), '\0');
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t n = ::pread(fd.get(), text.data() + done, text.size() - done, static_cast<off_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return system_error(path, errno);
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
  }
  text.resize(done);
  return parse_perf_map(text);
}

}  // namespace fathom::process
