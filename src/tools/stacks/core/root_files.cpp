#include "tools/stacks/core/root_files.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

namespace fathom::stacks {
namespace {

constexpr int kForReading = O_RDONLY | O_CLOEXEC | O_NONBLOCK;
constexpr std::string_view kUsr = "/usr";

}  // namespace

Fd open_below(const std::string& root, const std::string& path) {
  if (root.empty()) return Fd(::open(path.c_str(), kForReading));
  const Fd folder(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!folder) return Fd();
  open_how how{};
  how.flags = kForReading;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  Fd file(static_cast<int>(::syscall(SYS_openat2, folder.get(), path.c_str(), &how, sizeof how)));
  // Before Linux 5.6, and where a sandbox does not know the call.
  if (!file && (errno == ENOSYS || errno == EPERM)) return Fd(::open((root + path).c_str(), kForReading));
  return file;
}

std::vector<std::string> same_paths(const std::string& path) {
  const bool is_in_usr = path.starts_with("/usr/");
  return {path, is_in_usr ? path.substr(kUsr.size()) : std::string(kUsr) + path};
}

}  // namespace fathom::stacks
