// Files that are truncated while they are mapped. Reading a page that is gone raises SIGBUS, which ends a
// process: a target that truncates one of its libraries would end its profiler. Mapping registers its files
// here; the owner of the process's signals (cli/) passes the address of such a fault to replace_lost_page(),
// and the reader continues with zeros, which it must understand or reject like any other damaged file.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fathom {

// A page of zeros takes the place of the one at `address`, if that lies in a file that a Mapping holds; else false, and
// nothing has been changed. May be called in a signal handler of the thread that reads.
bool replace_lost_page(const void* address) noexcept;

// How many pages were replaced in this process.
std::uint64_t lost_pages() noexcept;

// For Mapping. Where more files are mapped at once than are noted (16,384), a cut one ends the process as before.
void note_mapped_file(const void* start, std::size_t size) noexcept;
void forget_mapped_file(const void* start) noexcept;

}  // namespace fathom
