// Where a module keeps its call frame information, and which addresses it may describe.
#pragma once

#include <optional>
#include <vector>

#include "binary/dwarf/frame_section.h"
#include "binary/elf/elf_file.h"

namespace fathom::unwind {

struct FrameSections {
  std::optional<dwarf::FrameSection> eh_frame;
  std::optional<dwarf::FrameSection> debug_frame;
  elf::SectionData debug_frame_data;  // owns the bytes if they were stored compressed
};

// .eh_frame through PT_GNU_EH_FRAME, as unwinders of the process itself find it, else by its section;
// .debug_frame by its section. Valid as long as the file's bytes and this object.
FrameSections find_frame_sections(const elf::ElfFile& file);

// [start, end) of executable code, sorted. What lies outside cannot run, whatever an FDE says.
struct CodeRange {
  std::uint64_t start, end;
};
std::vector<CodeRange> code_ranges(const elf::ElfFile& file);

// The sections of code in the ranges, sorted and disjoint, as older linkers put read-only data into the same segment;
// the ranges if the file has no sections.
std::vector<CodeRange> code_sections(const elf::ElfFile& file, const std::vector<CodeRange>& ranges);

// The part of [start, start + size) that is in one of the ranges, from `start` on; size 0 if none.
std::uint64_t size_within(const std::vector<CodeRange>& ranges, std::uint64_t start, std::uint64_t size);

}  // namespace fathom::unwind
