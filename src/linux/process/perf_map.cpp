#include "linux/process/perf_map.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>
#include <span>

#include "base/fd.h"
#include "base/files.h"
#include "linux/process/fields.h"
#include "linux/process/jit_dump.h"
#include "linux/process/live_code.h"
#include "linux/process/maps.h"
#include "linux/process/status.h"

namespace fathom::process {
namespace {

constexpr off_t kMaxSize = off_t{256}
                           << 20;  // node writes some 100 bytes for each function: two million functions
constexpr off_t kMaxOffset = off_t{1} << 40;  // a dump holds the code, too, which is not read

std::optional<std::uint64_t> parse_hex(std::string_view text) {
  if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
  return parse_number(text, 16);
}

// The writer of a dump maps it as executable, so that a profiler sees where it is.
std::optional<std::string> mapped_jit_dump(int pid, int own_pid) {
  const auto maps = read_maps(pid);
  if (!maps) return std::nullopt;
  const std::string name = fmt::format("/jit-{}.dump", own_pid);
  for (const MapEntry& entry : *maps)
    if (entry.executable && entry.path.ends_with(name)) return entry.path;
  return std::nullopt;
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
  LiveCode live;
  std::string_view line;
  while (next_line(text, line))
    if (auto entry = parse_line(line)) live.add(std::move(*entry));
  return live.take();
}

std::string perf_map_path(int pid) {
  int own_pid = pid;
  if (auto status = read_status(pid); status && !status->namespace_pids.empty())
    own_pid = status->namespace_pids.back();
  const std::string map = fmt::format("/proc/{}/root/tmp/perf-{}.map", pid, own_pid);
  if (::access(map.c_str(), F_OK) == 0) return map;
  const std::optional<std::string> dump = mapped_jit_dump(pid, own_pid);
  return dump ? fmt::format("/proc/{}/root{}", pid, *dump) : map;
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
  int problem = 0;
  const ReadAt read_at = [&](std::uint64_t offset, std::span<char> bytes) -> std::size_t {
    while (offset <= static_cast<std::uint64_t>(kMaxOffset)) {
      const ssize_t n = ::pread(fd.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) problem = errno;
      return n < 0 ? 0 : static_cast<std::size_t>(n);
    }
    return 0;
  };
  std::array<char, 4> start{};
  std::vector<PerfMapEntry> entries;
  if (is_jit_dump({start.data(), read_at(0, start)})) {
    entries = parse_jit_dump(read_at);
  } else {
    if (file.st_size > kMaxSize) return fail(ErrorKind::kUnsupported, path + ": longer than 256 MiB");
    std::string text(static_cast<std::size_t>(file.st_size), '\0');
    std::size_t done = 0;
    while (done < text.size()) {
      const std::size_t n = read_at(done, std::span(text).subspan(done));
      if (n == 0) break;
      done += n;
    }
    text.resize(done);
    entries = parse_perf_map(text);
  }
  if (problem != 0) return system_error(path, problem);
  return entries;
}

}  // namespace fathom::process
