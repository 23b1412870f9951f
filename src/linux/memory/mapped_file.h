// The file behind a mapping of another process, opened for reading.
#pragma once

#include <sys/stat.h>

#include <cstdint>

#include "base/fd.h"
#include "base/result.h"
#include "linux/process/maps.h"

namespace fathom::sources {

struct MappedFile {
  Fd fd;
  struct stat of {};
};
// Whether a file is the one of a mapping, and a regular one. Pure.
bool is_mapped_file(const struct stat& file, const process::MapEntry& entry);

// As the process sees it: through its map_files, which needs rights, or by its name in the process's root. Only if it is
// the file that is mapped and a regular one: opening a device may do anything. The file system may be the target's own
// (FUSE) and not answer.
Result<MappedFile> open_mapped_file(std::int32_t pid, const process::MapEntry& entry);

}  // namespace fathom::sources
