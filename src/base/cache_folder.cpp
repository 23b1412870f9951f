#include "base/cache_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/files.h"
#include "base/output_file.h"

namespace fathom {
namespace {

bool is_allowed(const std::string& name) {
  constexpr std::string_view kAllowed = "0123456789abcdefghijklmnopqrstuvwxyz-.";
  constexpr std::size_t kLongest = 210;
  return !name.empty() && name.size() <= kLongest && name.front() != '.' &&
         name.find_first_not_of(kAllowed) == std::string::npos;
}

}  // namespace

CacheFolder::CacheFolder(const std::string& path, std::uint64_t limit_bytes)
    : path_(path), limit_bytes_(limit_bytes) {
  if (path.empty()) return;
  // What lies in it was found out by this account: what only root can read stays with root, and root believes
  // nothing that a user has put down.
  auto folder = SafeFolder::open(path, {.trust_group = false, .trust_way = false});
  if (folder)
    folder_.emplace(std::move(*folder));
  else
    refusal_ = folder.error().message;
}

Fd CacheFolder::open(const std::string& name) const {
  if (!folder_ || !is_allowed(name)) return Fd();
  const int folder = folder_->fd().get();
  Fd fd(::openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status {};
  if (!fd || ::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) return Fd();
  ::utimensat(folder, name.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);  // used now: evicted last
  return fd;
}

std::optional<std::string> CacheFolder::load(const std::string& name, std::size_t most) const {
  const Fd fd = open(name);
  auto content = fd ? read_file(fd, name, most) : fail(ErrorKind::kNotFound, name);
  return content ? std::optional(std::move(*content)) : std::nullopt;
}

// A full disk costs the cache, not the recording.
void CacheFolder::save(const std::string& name, std::span<const std::byte> content) {
  if (!folder_ || !is_allowed(name) || content.size() > limit_bytes_) return;
  auto folder = folder_->again();
  if (!folder) return;
  auto file = OutputFile::open_in(std::move(*folder), name, path_ + "/" + name,
                                  {.force = true, .owner = std::nullopt});
  if (!file || !file->write({reinterpret_cast<const char*>(content.data()), content.size()})) return;
  if (!file->publish()) return;
  folder_->keep();
  evict();
}

void CacheFolder::evict() const {
  struct File {
    std::int64_t seconds, nanoseconds;
    std::uint64_t size;
    std::string name;
  };
  const int folder = folder_->fd().get();
  std::vector<File> files;
  std::uint64_t total = 0;
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(
      ::fdopendir(::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)), ::closedir);
  while (const dirent* entry = entries ? ::readdir(entries.get()) : nullptr) {
    struct stat status {};
    if (::fstatat(folder, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(status.st_mode))
      continue;
    const auto size = static_cast<std::uint64_t>(status.st_size);
    total += size;
    files.push_back({status.st_mtim.tv_sec, status.st_mtim.tv_nsec, size, entry->d_name});
  }
  std::sort(files.begin(), files.end(), [](const File& a, const File& b) {
    return std::tie(a.seconds, a.nanoseconds, a.name) < std::tie(b.seconds, b.nanoseconds, b.name);
  });
  for (const auto& file : files) {
    if (total <= limit_bytes_) return;
    if (::unlinkat(folder, file.name.c_str(), 0) == 0) total -= file.size;
  }
}

std::string default_cache_folder(std::string_view name) {
  const auto absolute = [](const char* variable) -> std::string {
    const char* value = std::getenv(variable);
    return value != nullptr && value[0] == '/' ? value : "";
  };
  std::string folder = absolute("XDG_CACHE_HOME");
  if (folder.empty())
    if (const std::string home = absolute("HOME"); !home.empty()) folder = home + "/.cache";
  return folder.empty() ? std::string() : folder + "/fathom/" + std::string(name);
}

}  // namespace fathom
