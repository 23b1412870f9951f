#include "base/output_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <string_view>
#include <utility>
#include <vector>

#include "base/files.h"

namespace fathom {
namespace {

constexpr std::size_t kFirstBytes = 256 * 1024;

constexpr std::string_view kTemporaryPrefix = ".fathom-";

std::string random_name() {
  std::array<std::uint64_t, 2> bits{};
  // 16 bytes come whole or not at all; with none O_EXCL still stands.
  [[maybe_unused]] const ssize_t count = ::getrandom(bits.data(), sizeof bits, 0);
  return fmt::format("{}{:016x}{:016x}", kTemporaryPrefix, bits[0], bits[1]);
}

// Temporary files of killed writers: a live writer keeps its file locked.
void remove_dead_files(int folder, std::string_view own) {
  constexpr std::int64_t kOldS = 60;  // one that was made a moment ago may not be locked yet
  const Fd copy(::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  DIR* const entries = copy ? ::fdopendir(::dup(copy.get())) : nullptr;
  if (entries == nullptr) return;
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(entries)) {
    const std::string_view name = entry->d_name;
    if (name.size() == own.size() && name.starts_with(kTemporaryPrefix) && name != own)
      names.emplace_back(name);
  }
  ::closedir(entries);
  for (const std::string& name : names) {
    const Fd fd(::openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    struct stat status {};
    if (!fd || ::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_uid != ::geteuid())
      continue;
    if (::time(nullptr) - status.st_mtime < kOldS || ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) continue;
    ::unlinkat(folder, name.c_str(), 0);
  }
}

Result<std::string> first_bytes(int folder, const std::string& name, const std::string& path) {
  const Fd fd(::openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd) return system_error(path, errno);
  std::string bytes(kFirstBytes, '\0');
  const ssize_t count = ::read(fd.get(), bytes.data(), bytes.size());
  if (count < 0) return system_error(path, errno);
  bytes.resize(static_cast<std::size_t>(count));
  return bytes;
}

// Opened without waiting for a reader, and written with waiting: a reader may be slow.
Result<Fd> open_stream(int folder, const std::string& name, const std::string& path) {
  Fd fd(::openat(folder, name.c_str(), O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!fd && errno == ENXIO)
    return fail(ErrorKind::kUsage, path + ": no process reads from this pipe", "start its reader first");
  if (!fd) return system_error(path, errno);
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) return system_error(path, errno);
  if (!S_ISFIFO(status.st_mode) && !S_ISCHR(status.st_mode))
    return fail(ErrorKind::kUsage, path + ": something else has taken this name", "another name");
  ::fcntl(fd.get(), F_SETFL, ::fcntl(fd.get(), F_GETFL) & ~O_NONBLOCK);
  return fd;
}

}  // namespace

OutputFile::OutputFile(OutputFile&& other) noexcept
    : folder_(std::move(other.folder_)),
      name_(std::move(other.name_)),
      path_(std::move(other.path_)),
      fd_(std::move(other.fd_)),
      temporary_(std::exchange(other.temporary_, {})),
      existing_(std::move(other.existing_)),
      published_(other.published_),
      is_stream_(other.is_stream_) {}

OutputFile::~OutputFile() {
  if (!temporary_.empty()) ::unlinkat(folder_.fd().get(), temporary_.c_str(), 0);
}

Result<OutputFile> OutputFile::open(const std::string& path, const OutputOptions& options) {
  const std::size_t slash = path.rfind('/');
  const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  if (name.empty() || name == "." || name == "..")
    return fail(ErrorKind::kUsage, fmt::format("'{}': this names a folder", path), "a file in it");
  const std::string parent = slash == std::string::npos ? "" : path.substr(0, slash == 0 ? 1 : slash);
  auto folder = SafeFolder::open(parent, {.owner = options.owner, .trust_any_owner = options.force});
  if (!folder) return tl::unexpected<Error>(folder.error());
  return open_in(std::move(*folder), name, path, options);
}

Result<OutputFile> OutputFile::open_in(SafeFolder folder, const std::string& name, const std::string& path,
                                       const OutputOptions& options) {
  OutputFile file(std::move(folder), name, path);
  if (auto looked = file.look_at_existing(options); !looked) return tl::unexpected<Error>(looked.error());
  if (file.published_) return file;
  if (auto created = file.create(options); !created) return tl::unexpected<Error>(created.error());
  return file;
}

Result<> OutputFile::look_at_existing(const OutputOptions& options) {
  const int folder = folder_.fd().get();
  struct stat status {};
  Fd existing(::openat(folder, name_.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (!existing && errno == ENOENT) return {};
  if (!existing || ::fstat(existing.get(), &status) != 0) return system_error(path_, errno);
  const auto refuse = [&](std::string_view what, std::string_view remedy) {
    return fail(ErrorKind::kUsage, fmt::format("{}: {}", path_, what), std::string(remedy));
  };
  if (S_ISLNK(status.st_mode))
    return refuse("this is a symbolic link, which is not followed", "the file it leads to");
  if (S_ISDIR(status.st_mode)) return refuse("this is a folder", "a file in it");
  if (S_ISFIFO(status.st_mode) || S_ISCHR(status.st_mode)) {
    if (!options.streams)
      return refuse(S_ISFIFO(status.st_mode) ? "this is a pipe, not a regular file"
                                             : "this is a device, not a regular file",
                    "the name of a file");
    auto stream = open_stream(folder, name_, path_);
    if (!stream) return tl::unexpected<Error>(stream.error());
    fd_ = std::move(*stream);
    published_ = is_stream_ = true;
    return {};
  }
  if (!S_ISREG(status.st_mode))
    return refuse("this is a disk or a socket, not a regular file", "the name of a file");
  existing_ = std::move(existing);
  if (options.force) return {};
  if (options.keep_existing)
    return refuse("there is a file of this name", "another name, or remove the file");
  if (status.st_size == 0) return {};
  const auto first = first_bytes(folder, name_, path_);
  if (!first) return tl::unexpected<Error>(first.error());
  if (options.replaceable != nullptr && options.replaceable(*first)) return {};
  return refuse("a file with this name exists, and it is not recognised as an earlier result of this kind",
                "another name, or --force to replace it");
}

Result<> OutputFile::create(const OutputOptions& options) {
  const int folder = folder_.fd().get();
  if (options.unnamed) fd_ = Fd(::openat(folder, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!fd_) {
    std::string name = options.temporary.empty() ? random_name() : options.temporary;
    fd_ = Fd(::openat(folder, name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!fd_) return system_error(path_, errno);
    (void)::flock(fd_.get(), LOCK_EX | LOCK_NB);
    temporary_ = std::move(name);
    remove_dead_files(folder, temporary_);
  }
  if (::fchmod(fd_.get(), 0600) != 0) return system_error(path_, errno);
  // Where it cannot be given away (a network drive), it stays root's, and is there all the same.
  if (options.owner && ::fchown(fd_.get(), options.owner->uid, options.owner->gid) != 0) errno = 0;
  return {};
}

Result<> OutputFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd_.get(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EPIPE) return {};
    if (count <= 0) return system_error(path_, count < 0 ? errno : ENOSPC);
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return {};
}

// Never over what is there.
Result<> OutputFile::give_name(const std::string& name) {
  const int folder = folder_.fd().get();
  int result = 0;
  if (temporary_.empty()) {
    const std::string self = fmt::format("/proc/self/fd/{}", fd_.get());
    result = ::linkat(AT_FDCWD, self.c_str(), folder, name.c_str(), AT_SYMLINK_FOLLOW);
  } else {
    result = ::renameat2(folder, temporary_.c_str(), folder, name.c_str(), RENAME_NOREPLACE);
    if (result != 0 && (errno == EINVAL || errno == ENOSYS)) {  // a file system that cannot
      struct stat status {};
      if (::fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0)
        errno = EEXIST;
      else
        result = ::renameat(folder, temporary_.c_str(), folder, name.c_str());
    }
  }
  if (result == 0) return {};
  if (errno == EEXIST)
    return fail(ErrorKind::kUsage, path_ + ": there is a file of this name now", "another name");
  return system_error(path_, errno);
}

Result<> OutputFile::publish() {
  if (published_) return {};
  const int folder = folder_.fd().get();
  struct stat now {
  }, before{};
  const bool there = ::fstatat(folder, name_.c_str(), &now, AT_SYMLINK_NOFOLLOW) == 0;
  if (!there || !existing_) {
    if (auto named = give_name(name_); !named) return named;
  } else {
    if (::fstat(existing_.get(), &before) != 0 || now.st_dev != before.st_dev || now.st_ino != before.st_ino)
      return fail(ErrorKind::kUsage, path_ + ": something else has taken this name", "another name");
    if (temporary_.empty()) {
      std::string name = random_name();
      if (auto named = give_name(name); !named) return named;
      temporary_ = std::move(name);
    }
    if (::renameat(folder, temporary_.c_str(), folder, name_.c_str()) != 0) return system_error(path_, errno);
  }
  temporary_.clear();
  published_ = true;
  folder_.keep();
  return {};
}

FileIdentity identity_of(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return {};
  return {status.st_dev, status.st_ino};
}

FileIdentity OutputFile::identity() const {
  struct stat status {};
  if (::fstat(fd_.get(), &status) != 0) return {};
  return {status.st_dev, status.st_ino};
}

OutputFile::Place OutputFile::place() const {
  if (is_stream_) return Place::kThere;
  const FileIdentity named = identity_of(path_);
  if (named == FileIdentity{}) return Place::kGone;
  return named == identity() ? Place::kThere : Place::kTaken;
}

Result<OutputFile> OutputFile::copy_to(const std::string& path, const OutputOptions& options) const {
  auto copy = open(path, options);
  if (!copy) return copy;
  std::vector<char> piece(std::size_t{1} << 20);
  for (off_t at = 0;;) {
    const ssize_t count = ::pread(fd_.get(), piece.data(), piece.size(), at);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return system_error(path_, errno);
    if (count == 0) break;
    if (auto written = copy->write({piece.data(), static_cast<std::size_t>(count)}); !written)
      return tl::unexpected<Error>(written.error());
    at += count;
  }
  if (auto published = copy->publish(); !published) return tl::unexpected<Error>(published.error());
  return copy;
}

}  // namespace fathom
