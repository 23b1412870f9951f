// One dump with what is known of the file it came from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "formats/jemalloc/dump.h"
#include "formats/jemalloc/file_name.h"
#include "model/heap.h"

namespace fathom::dumps {

struct DumpFile {
  std::string path;                       // for messages
  std::optional<formats::DumpName> name;  // what its name says, where it is one of jemalloc's
  std::uint64_t modified_unix_ns = 0;  // 0: not known, as of standard input. A hint only: copying changes it
  formats::HeapDump dump;
};

// "13 (i13)" of jeprof.21626.13.i13.heap, else the name of the file.
std::string short_label(const DumpFile& file);

// "i13", "f": why it was written, and which of its kind it is. Empty: its name does not say.
std::string trigger_label(const DumpFile& file);

// What was live, with each pair taken by itself.
model::HeapWeight live_in(const formats::HeapDump& dump);

}  // namespace fathom::dumps
