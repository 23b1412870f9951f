// Files that are cut short while they are mapped. Reading a page that is gone raises SIGBUS, which ends a process: a
// target that cuts a library of its own would end its profiler. Mapping notes here where files are mapped; whoever owns
// the signals of the process (cli/) hands the address of such a fault to replace_lost_page(), and the reader goes on with
// zeros, which it has to understand or to refuse like any other damaged file.
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
