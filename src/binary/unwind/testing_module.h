// For tests only: a shared object with code at 0x10000 and the call frame information that the test writes
// for it.
#pragma once

#include <elf.h>

#include <utility>

#include "binary/dwarf/testing_cfi.h"
#include "binary/elf/testing_elf.h"
#include "binary/unwind/table.h"

namespace fathom::unwind::testing {

using dwarf::testing::Bytes;
using dwarf::testing::bytes;
using dwarf::testing::rule;
using dwarf::testing::SectionBuilder;

inline constexpr std::uint64_t kCode = 0x10000;
inline constexpr std::uint64_t kEhFrame = 0x100000;  // where SectionBuilder puts its bytes by default

struct ModuleSpec {
  Bytes eh_frame = {};
  Bytes debug_frame = {};
  std::uint64_t debug_frame_flags = 0;
  std::size_t code_size = 0x30000;
  Bytes code = {};  // the first bytes of it
  bool section_headers = true;
  bool eh_frame_header = true;
};

inline Bytes module_bytes(const ModuleSpec& spec) {
  elf::testing::ElfBuilder builder;
  Bytes code = spec.code;
  code.resize(spec.code_size, std::byte{0xcc});
  builder.segment(PT_LOAD, PF_R | PF_X, kCode, builder.blob(code));
  if (!spec.eh_frame.empty()) {
    const auto frames = builder.blob(spec.eh_frame);
    builder.segment(PT_LOAD, PF_R, kEhFrame, frames);
    builder.section(".eh_frame", SHT_PROGBITS, SHF_ALLOC, kEhFrame, frames);
    if (spec.eh_frame_header) {
      Bytes header = bytes({1, 0x1b, 0xff, 0xff});  // .eh_frame: pc-relative, 4 bytes signed; no search table
      constexpr std::uint64_t kHeader = 0x90000;
      elf::testing::put(header, static_cast<std::int32_t>(kEhFrame - kHeader - 4));
      const auto blob = builder.blob(header);
      builder.segment(PT_LOAD, PF_R, kHeader, blob);
      builder.segment(PT_GNU_EH_FRAME, PF_R, kHeader, blob);
    }
  }
  if (!spec.debug_frame.empty())
    builder.section(".debug_frame", SHT_PROGBITS, spec.debug_frame_flags, 0, builder.blob(spec.debug_frame));
  if (!spec.section_headers) builder.without_section_headers();
  return builder.build();
}

inline Table table_of(const ModuleSpec& spec) {
  const auto image = module_bytes(spec);
  return build_table(elf::ElfFile::parse(image, "hand-made").value()).value();
}

// A function of 16 bytes' frame from its second byte on.
inline Bytes frame_of_16() {
  return bytes({0x41, 0x0e, 16});
}

}  // namespace fathom::unwind::testing
