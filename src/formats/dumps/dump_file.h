// One dump and the facts about its file.
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
  std::optional<formats::DumpName> name;  // parsed from the file name, if it is one of jemalloc's
  std::uint64_t modified_unix_ns = 0;  // 0: unknown, as for standard input. Only a hint: copying changes it
  formats::HeapDump dump;
};

// "13 (i13)" for jeprof.21626.13.i13.heap, otherwise the name of the file.
std::string short_label(const DumpFile& file);

// "i13", "f": why the dump was written, and its number of that kind. Empty if the name does not contain it.
std::string trigger_label(const DumpFile& file);

// Live memory, each pair unbiased separately.
model::HeapWeight live_in(const formats::HeapDump& dump);

}  // namespace fathom::dumps
