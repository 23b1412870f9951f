// Programs that copy their code to huge pages (node --use-largepages, iodlr and others) leave no file behind it in their map:
// anonymous memory stands where the file's code was, at the same addresses and with the same bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "binary/elf/module_file.h"
#include "linux/process/maps.h"

namespace fathom::session {

// How the caller looks at the process: the file behind one of its mappings, and `into.size()` bytes of its memory.
struct MovedTextAccess {
  std::function<Result<elf::ModuleFile>(const process::MapEntry&)> file_of;
  std::function<bool(std::uint64_t address, std::span<std::byte> into)> read;
};

// Gives executable mappings without a file, which lie where a file of the map has its code and hold what it holds there, that
// file and its offset. A mapping that reaches further is split. What differs from the file is left as it is.
void name_moved_text(std::vector<process::MapEntry>& maps, const MovedTextAccess& access);

// The same in a thread of its own, which is given up after `most_ns`: false, and `maps` stays as it was.
bool name_moved_text_within(std::vector<process::MapEntry>& maps, MovedTextAccess access,
                            std::uint64_t most_ns);

// The same with /proc data of process `pid`, in at most 200 ms. Once a process has blocked a read of its
// memory or a file, no other one is read.
void name_moved_text(std::int32_t pid, std::vector<process::MapEntry>& maps);

}  // namespace fathom::session
