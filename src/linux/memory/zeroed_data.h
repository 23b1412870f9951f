// Where the zeroed data (.bss) of a mapped file ends. The kernel places anonymous memory right behind a
// library's data wherever there is room, and merges it with the library's own: only the file shows where that
// ends. Source: ELF program headers (gABI, chapter 5), PT_LOAD.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "linux/process/maps.h"

namespace fathom::sources {

// The address of the first page behind the zeroed data of the segment of which `data` is a mapping. `file`: the file's
// first bytes, at least the program headers; not trusted. nullopt: no such segment, or the headers are not in it.
std::optional<std::uint64_t> end_of_zeroed_data(std::span<const std::byte> file,
                                                const process::MapEntry& data);

// Whether `entry` lies right behind `data`, the writable private data of a file, as zeroed data does.
bool can_be_zeroed_data(const process::MapEntry& data, const process::MapEntry& entry);

// Splits mappings in two where zeroed data ends within one, so that each is one thing. Ascending before and after.
// Returns the starts of mappings that lie behind data of a file and are not its zeroed data; ascending. Reads the
// beginning of each file in question; one that cannot be read changes nothing.
std::vector<std::uint64_t> split_zeroed_data(std::int32_t pid, std::vector<process::MapEntry>& entries);

}  // namespace fathom::sources
