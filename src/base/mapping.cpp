#include "base/mapping.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>

#include "base/fd.h"
#include "base/files.h"
#include "base/mapped_files.h"

namespace fathom {

Mapping::~Mapping() {
  if (address_ == nullptr) return;
  forget_mapped_file(address_);
  ::munmap(address_, size_);
}

Result<Mapping> Mapping::of_file(const std::string& path) {
  Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));  // a named pipe would wait for a writer
  if (!fd) return system_error(path, errno);
  return of_fd(fd.get(), path);
}

Result<Mapping> Mapping::of_fd(int fd, const std::string& name) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return system_error(name, errno);
  if (!S_ISREG(status.st_mode)) return fathom::fail(ErrorKind::kUnsupported, name + ": not a regular file");
  if (status.st_size == 0) return Mapping();
  const auto size = static_cast<std::size_t>(status.st_size);
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (address == MAP_FAILED) return system_error(name, errno);
  note_mapped_file(address, size);
  return Mapping(address, size);
}

}  // namespace fathom
