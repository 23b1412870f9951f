#include "linux/memory/mapped_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/sysmacros.h>

#include <cerrno>

#include "base/files.h"

namespace fathom::sources {

// An inode's number is one of its file system. Where that has no device of its own (overlayfs, btrfs, FUSE: major 0) stat()
// and the map may name different ones for the same file, so they are not compared.
bool is_mapped_file(const struct stat& file, const process::MapEntry& entry) {
  if (!S_ISREG(file.st_mode) || file.st_ino != entry.inode) return false;
  const bool no_device = major(file.st_dev) == 0 || entry.device_major == 0;
  return no_device || (major(file.st_dev) == entry.device_major && minor(file.st_dev) == entry.device_minor);
}

Result<MappedFile> open_mapped_file(std::int32_t pid, const process::MapEntry& entry) {
  MappedFile file;
  const auto regular = [&](const std::string& path, int flags) {
    Fd place(::open(path.c_str(), O_PATH | O_CLOEXEC | flags));
    if (place && (::fstat(place.get(), &file.of) != 0 || !is_mapped_file(file.of, entry))) place = Fd();
    return place;
  };
  Fd place = regular(process::map_files_path(pid, entry), 0);
  if (!place && !entry.deleted) place = regular(fmt::format("/proc/{}/root{}", pid, entry.path), O_NOFOLLOW);
  if (!place) return fail(ErrorKind::kPermission, "it cannot be opened");
  file.fd = Fd(::open(fmt::format("/proc/self/fd/{}", place.get()).c_str(),
                      O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file.fd) return system_error("opening it", errno);
  return file;
}

}  // namespace fathom::sources
