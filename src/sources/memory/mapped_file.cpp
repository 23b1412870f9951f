#include "sources/memory/mapped_file.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>

#include "base/files.h"

namespace fathom::sources {

Result<MappedFile> open_mapped_file(std::int32_t pid, const process::MapEntry& entry) {
  MappedFile file;
  const auto regular = [&](const std::string& path, int flags) {
    Fd place(::open(path.c_str(), O_PATH | O_CLOEXEC | flags));
    if (place &&
        (::fstat(place.get(), &file.of) != 0 || !S_ISREG(file.of.st_mode) || file.of.st_ino != entry.inode))
      place = Fd();
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
