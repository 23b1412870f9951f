#include "base/safe_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <deque>
#include <string_view>

#include "base/files.h"

namespace fathom {
namespace {

constexpr int kMostLinks = 40;  // as in the kernel

bool is_trusted(uid_t uid, const FolderRules& rules) {
  return uid == 0 || uid == ::geteuid() || (rules.owner && uid == rules.owner->uid);
}

void prepend(std::deque<std::string>& names, std::string_view path) {
  std::deque<std::string> front;
  while (!path.empty()) {
    const std::size_t slash = path.find('/');
    if (const auto name = path.substr(0, slash); !name.empty() && name != ".") front.emplace_back(name);
    if (slash == std::string_view::npos) break;
    path.remove_prefix(slash + 1);
  }
  names.insert(names.begin(), front.begin(), front.end());
}

// Other users cannot replace what we create in it by a link.
Result<> check_folder(const Fd& folder, const std::string& path, const FolderRules& rules) {
  struct stat status {};
  if (::fstat(folder.get(), &status) != 0) return system_error(path, errno);
  if (rules.trust_any_owner) return {};
  if (!is_trusted(status.st_uid, rules))
    return fail(
        ErrorKind::kPermission,
        fmt::format("{}: the folder belongs to user {}, who could change the output", path, status.st_uid),
        "a folder of your own, or --force");
  const bool all = (status.st_mode & S_IWOTH) != 0 && (status.st_mode & S_ISVTX) == 0;
  if (all || (!rules.trust_group && (status.st_mode & S_IWGRP) != 0))
    return fail(ErrorKind::kPermission,
                fmt::format("{}: {} can change files in this folder", path, all ? "everybody" : "a group"),
                fmt::format("chmod {} {}, or --force", all ? "o-w" : "g-w", path));
  return {};
}

// Other users cannot replace a folder or link in it. With a sticky bit, each user controls only their own.
Result<> check_way(const Fd& folder, const std::string& path, const FolderRules& rules) {
  struct stat status {};
  if (::fstat(folder.get(), &status) != 0) return system_error(path, errno);
  const bool shared = (status.st_mode & (S_IWOTH | S_IWGRP)) != 0 && (status.st_mode & S_ISVTX) == 0;
  if (is_trusted(status.st_uid, rules) && !shared) return {};
  return fail(ErrorKind::kPermission,
              fmt::format("{}: {} can replace files in this folder", path,
                          shared ? std::string("others") : fmt::format("user {}", status.st_uid)),
              "a folder of your own");
}

// A folder that was made this moment. A umask of 0777 takes its owner's rights too, so that only its place can be opened.
Fd open_made(const Fd& folder, const std::string& name) {
  constexpr int kHow = O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  Fd made(::openat(folder.get(), name.c_str(), O_RDONLY | kHow));
  if (made || errno != EACCES) return made;
  const Fd place(::openat(folder.get(), name.c_str(), O_PATH | kHow));
  if (place) (void)::chmod(("/proc/self/fd/" + std::to_string(place.get())).c_str(), 0700);
  return Fd(::openat(folder.get(), name.c_str(), O_RDONLY | kHow));
}

Result<std::string> target_of(const Fd& folder, const std::string& name, const std::string& path) {
  std::array<char, PATH_MAX> target;
  const ssize_t size = ::readlinkat(folder.get(), name.c_str(), target.data(), target.size());
  if (size <= 0) return system_error(path, size < 0 ? errno : ENOENT);
  return std::string(target.data(), static_cast<std::size_t>(size));
}

}  // namespace

Result<SafeFolder> SafeFolder::open(const std::string& path, const FolderRules& rules) {
  SafeFolder folder;
  std::deque<std::string> names;
  prepend(names, path);
  constexpr int kHow = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  std::string walked = path.starts_with('/') ? "/" : ".";  // for messages
  folder.fd_ = Fd(::open(walked.c_str(), kHow));
  if (!folder.fd_) return system_error(walked, errno);
  if (walked == ".") walked.clear();
  int links = 0;
  while (!names.empty()) {
    const std::string name = std::move(names.front());
    names.pop_front();
    const std::string here = walked + (walked.empty() || walked.ends_with('/') ? "" : "/") + name;
    if (!rules.trust_way)
      if (auto safe = check_way(folder.fd_, walked.empty() ? "." : walked, rules); !safe)
        return tl::unexpected<Error>(safe.error());
    struct stat status {};
    const bool there = ::fstatat(folder.fd_.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
    if (!there && (errno != ENOENT || !rules.make)) return system_error(here, errno);
    if (there && S_ISLNK(status.st_mode)) {
      auto target = target_of(folder.fd_, name, here);
      if (!target) return tl::unexpected<Error>(target.error());
      if (names.empty() && links == 0)
        return fail(ErrorKind::kPermission,
                    fmt::format("{}: the folder is a symbolic link to {}", here, *target),
                    "the folder that it leads to");
      if (!is_trusted(status.st_uid, rules) || ++links > kMostLinks)
        return fail(ErrorKind::kPermission,
                    fmt::format("{}: a symbolic link of user {} to {}", here, status.st_uid, *target),
                    "a path without this link");
      prepend(names, *target);
      if (target->starts_with('/')) {
        folder.fd_ = Fd(::open("/", kHow));
        walked.assign(1, '/');
      }
      continue;
    }
    if (!there) {
      if (auto safe = check_folder(folder.fd_, walked.empty() ? "." : walked, rules); !safe)
        return tl::unexpected<Error>(safe.error());
      if (::mkdirat(folder.fd_.get(), name.c_str(), 0700) == 0) {
        folder.made_.push_back({Fd(::fcntl(folder.fd_.get(), F_DUPFD_CLOEXEC, 0)), name});
        const Fd made = open_made(folder.fd_, name);
        if (!made || ::fchmod(made.get(), 0700) != 0) return system_error(here, errno);
        // Where it cannot be given away (a network drive), it stays ours and serves all the same.
        if (rules.owner && ::fchown(made.get(), rules.owner->uid, rules.owner->gid) != 0) errno = 0;
      } else if (errno != EEXIST) {
        tl::unexpected<Error> error = system_error(here, errno);
        if (error.value().remedy.empty())
          error.value().remedy = "another path, in a folder where you can make files";
        return error;
      }
    }
    Fd next(::openat(folder.fd_.get(), name.c_str(), kHow));
    if (!next) return system_error(here, errno);
    folder.fd_ = std::move(next);
    walked = here;
  }
  if (auto safe = check_folder(folder.fd_, walked.empty() ? "." : walked, rules); !safe)
    return tl::unexpected<Error>(safe.error());
  return folder;
}

Result<SafeFolder> SafeFolder::again() const {
  SafeFolder folder;
  folder.fd_ = Fd(::fcntl(fd_.get(), F_DUPFD_CLOEXEC, 0));
  if (!folder.fd_) return system_error("fcntl", errno);
  return folder;
}

SafeFolder::~SafeFolder() {
  while (!made_.empty()) {
    ::unlinkat(made_.back().parent.get(), made_.back().name.c_str(), AT_REMOVEDIR);
    made_.pop_back();
  }
}

}  // namespace fathom
