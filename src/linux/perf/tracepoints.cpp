#include "linux/perf/tracepoints.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <fnmatch.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <memory>

#include "base/files.h"
#include "base/parse.h"
#include "base/stable_sort.h"
#include "base/word_distance.h"

namespace fathom::sources {
namespace {

constexpr std::size_t kMostFormatBytes = 1 << 20;

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

std::vector<std::string> folders_in(int parent, const char* name) {
  std::vector<std::string> names;
  const int fd = ::openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return names;
  const std::unique_ptr<DIR, CloseFolder> folder(::fdopendir(fd));
  if (!folder) return names;
  while (const dirent* entry = ::readdir(folder.get()))
    if (entry->d_type == DT_DIR && entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  std::ranges::sort(names);
  return names;
}

// Neither mounts are changed nor anything is left: the kernel takes it away with its descriptor.
Fd private_tracefs() {
#if defined(SYS_fsopen) && defined(SYS_fsmount) && defined(SYS_fsconfig)
  constexpr unsigned kCloseOnExec = 1, kCreate = 6;  // FSOPEN_CLOEXEC, FSMOUNT_CLOEXEC; FSCONFIG_CMD_CREATE
  const Fd context(static_cast<int>(::syscall(SYS_fsopen, "tracefs", kCloseOnExec)));
  if (!context || ::syscall(SYS_fsconfig, context.get(), kCreate, nullptr, nullptr, 0) != 0) return Fd();
  return Fd(static_cast<int>(::syscall(SYS_fsmount, context.get(), kCloseOnExec, 0)));
#else
  return Fd();
#endif
}

std::optional<std::uint32_t> number_after(std::string_view line, std::string_view word) {
  const std::size_t at = line.find(word);
  if (at == std::string_view::npos) return std::nullopt;
  std::uint32_t number = 0;
  const char* begin = line.data() + at + word.size();
  const auto read = std::from_chars(begin, line.data() + line.size(), number);
  return read.ec == std::errc{} ? std::optional(number) : std::nullopt;
}

// "\tfield:unsigned int bytes;\toffset:28;\tsize:4;\tsigned:0;"
std::optional<TracepointField> field_of(std::string_view line) {
  constexpr std::string_view kField = "field:";
  const std::size_t at = line.find(kField);
  const std::size_t end = line.find(';');
  if (at == std::string_view::npos || end == std::string_view::npos || end < at) return std::nullopt;
  std::string_view declared = line.substr(at + kField.size(), end - at - kField.size());
  const auto offset = number_after(line, "offset:"), size = number_after(line, "size:");
  const std::size_t blank = declared.find_last_of(" *");
  if (!offset || !size || blank == std::string_view::npos) return std::nullopt;
  TracepointField field{std::string(declared.substr(blank + 1)), *offset, *size,
                        number_after(line, "signed:").value_or(0) != 0};
  const bool is_array = field.name.ends_with(']') || declared.find("__data_loc") != std::string_view::npos;
  if (is_array) field.size = 0;
  if (field.name.empty() || field.name.starts_with("common_")) return std::nullopt;
  return field;
}

}  // namespace

std::optional<Tracepoint> parse_tracepoint(std::string_view format) {
  Tracepoint tracepoint;
  bool has_id = false;
  while (!format.empty()) {
    const std::string_view line = take_until(format, '\n');
    if (line.starts_with("print fmt:")) break;
    if (line.starts_with("ID:")) {
      const auto id = number_after(line, "ID: ");
      if (!id) return std::nullopt;
      tracepoint.id = *id;
      has_id = true;
    } else if (auto field = field_of(line)) {
      tracepoint.fields.push_back(std::move(*field));
    }
  }
  return has_id ? std::optional(std::move(tracepoint)) : std::nullopt;
}

Result<Tracepoints> Tracepoints::open() {
  bool forbidden = false;
  for (const char* path : {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"}) {
    auto opened = open_folder(path);
    if (opened) return opened;
    forbidden = forbidden || opened.error().kind == ErrorKind::kPermission;
  }
  if (const Fd root = private_tracefs()) {
    Fd events(::openat(root.get(), "events", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (events) return Tracepoints(std::move(events));
  }
  if (forbidden)
    return fail(ErrorKind::kPermission,
                "-e: the kernel's list of tracepoints (/sys/kernel/tracing) cannot be read", "run as root");
  return fail(ErrorKind::kNotFound, "-e: the kernel's list of tracepoints is not mounted",
              "run as root, or: sudo mount -t tracefs tracefs /sys/kernel/tracing");
}

Result<Tracepoints> Tracepoints::open_folder(const std::string& path) {
  Fd events(::open((path + "/events").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!events) return system_error(path, errno);
  return Tracepoints(std::move(events));
}

std::vector<std::string> Tracepoints::matching(const std::string& pattern) const {
  std::vector<std::string> names;
  const std::string system_pattern = pattern.substr(0, pattern.find(':'));
  for (const std::string& system : folders_in(events_.get(), ".")) {
    if (::fnmatch(system_pattern.c_str(), system.c_str(), 0) != 0) continue;
    for (const std::string& event : folders_in(events_.get(), system.c_str())) {
      std::string name = system + ":" + event;
      if (::fnmatch(pattern.c_str(), name.c_str(), 0) == 0) names.push_back(std::move(name));
    }
  }
  return names;
}

Result<Tracepoint> Tracepoints::find(const std::string& name) const {
  const std::size_t colon = name.find(':');
  const std::string system = name.substr(0, colon), event = name.substr(std::min(colon + 1, name.size()));
  if (name.find('/') == std::string::npos && !system.starts_with('.') && !event.starts_with('.')) {
    const Fd file(::openat(events_.get(), (system + "/" + event + "/format").c_str(), O_RDONLY | O_CLOEXEC));
    std::string text;
    std::array<char, 4096> buffer;
    for (ssize_t count = 0; file && text.size() < kMostFormatBytes;
         text.append(buffer.data(), static_cast<std::size_t>(count)))
      if ((count = ::read(file.get(), buffer.data(), buffer.size())) <= 0) break;
    if (auto tracepoint = parse_tracepoint(text)) return std::move(*tracepoint);
  }
  std::vector<std::string> similar = matching(system + ":*");
  if (similar.empty()) similar = matching("*:" + event);
  stable_sort_rows(similar, {}, [&](const std::string& other) { return word_distance(name, other); });
  std::string remedy;
  for (std::size_t i = 0; i < std::min<std::size_t>(similar.size(), 3); ++i)
    remedy += (i == 0 ? "" : ", ") + similar[i];
  return fail(ErrorKind::kNotFound, fmt::format("-e: this kernel has no tracepoint {}", name),
              remedy.empty() ? "perf list tracepoint prints all names" : remedy);
}

}  // namespace fathom::sources
