#include "binary/symbolize/opened_files.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <utility>
#include <vector>

#include "base/files.h"
#include "binary/elf/module_file.h"
#include "binary/symbolize/debug_info.h"

namespace fathom::symbolize {
namespace {

// The calling thread opens files as another user, without root's groups and rights over files. The raw system
// call: the C library's would change all threads.
class AsUser {
 public:
  AsUser(unsigned user, unsigned group) : groups_(64) {
    const int count = ::getgroups(static_cast<int>(groups_.size()), groups_.data());
    groups_.resize(count < 0 ? 0 : static_cast<std::size_t>(count));
    (void)::syscall(SYS_setgroups, 0, nullptr);
    before_group_ = ::setfsgid(group);
    before_user_ = ::setfsuid(user);
    active_ = ::setfsuid(static_cast<uid_t>(-1)) == static_cast<int>(user);
  }
  ~AsUser() {
    (void)::setfsuid(static_cast<uid_t>(before_user_));
    (void)::setfsgid(static_cast<gid_t>(before_group_));
    (void)::syscall(SYS_setgroups, groups_.size(), groups_.data());
  }
  AsUser(const AsUser&) = delete;
  AsUser& operator=(const AsUser&) = delete;
  bool active() const { return active_; }

 private:
  std::vector<gid_t> groups_;
  int before_user_ = 0, before_group_ = 0;
  bool active_ = false;
};

bool is_on_a_disk(int fd) {
  struct stat status {};
  struct statfs system {};
  if (::fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || ::fstatfs(fd, &system) != 0) return false;
  return system.f_type != PROC_SUPER_MAGIC && system.f_type != SYSFS_MAGIC;
}

}  // namespace

OpenedFiles open_files(const ModuleSource& source, DebugFiles& debug_files) {
  OpenedFiles files;
  const std::string& path = source.open_path.empty() ? source.path : source.open_path;
  files.pointed = {source.root, source.root.empty() ? path : source.path};
  // Not blocking: the path may lead to a FIFO by now.
  Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) {
    files.problem = system_error(path, errno).value().message;
    return files;
  }
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    files.problem = path + ": not a regular file";
    return files;
  }
  const auto file = elf::ModuleFile::of_fd(fd.get(), path);
  if (!file) {
    files.problem = file.error().message;
    return files;
  }
  if (!source.identity.empty() && file->elf().identity() != source.identity) {
    files.problem = path + ": is no longer the file that was running";
    return files;
  }
  files.file = std::move(fd);
  if (DebugInfo::present(file->elf())) return files;
  auto other = debug_files.find(file->elf(), source);
  if (!other) {
    files.stripped = file->elf().section(".symtab") == nullptr;
    return files;
  }
  files.debug_path = std::move(other->path);
  files.debug_file = std::move(other->fd);
  if (!source.root.empty() && files.debug_path.starts_with(source.root + "/"))
    files.debug_path.erase(0, source.root.size());
  else
    files.pointed.root.clear();
  files.pointed.module = files.debug_path;
  return files;
}

PointedFiles::PointedFiles(const std::string& root, int file)
    : root_(::open(root.empty() ? "/" : root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)) {
  if (!root_) root_ = Fd(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (::geteuid() != 0) return;
  struct stat status {};
  as_owner_ = true;
  if (::fstat(file, &status) != 0) return;
  if (status.st_uid == 0 && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0) {
    as_owner_ = false;
  } else if (status.st_uid != 0) {
    owner_ = status.st_uid;
    group_ = status.st_gid;
  }
}

Fd PointedFiles::open(const std::string& path) const {
  if (!root_ || !path.starts_with('/')) return Fd();
  std::optional<AsUser> as_owner;
  if (as_owner_) {
    as_owner.emplace(owner_, group_);
    if (!as_owner->active()) return Fd();
  }
  open_how how{};
  how.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  Fd file(static_cast<int>(::syscall(SYS_openat2, root_.get(), path.c_str(), &how, sizeof(how))));
  return file && is_on_a_disk(file.get()) ? std::move(file) : Fd();
}

}  // namespace fathom::symbolize
