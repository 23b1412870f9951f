// What the name of a dump says: PREFIX.PID.SEQUENCE.KIND[NUMBER].heap, as jemalloc makes it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace fathom::formats {

// Why a dump was written.
enum class DumpTrigger : char {
  kInterval = 'i',   // so many bytes were allocated (lg_prof_interval)
  kManual = 'm',     // a call asked for it (prof.dump)
  kHighWater = 'u',  // more memory was mapped than ever before (prof_gdump)
  kFinal = 'f',      // the process ended (prof_final)
};

struct DumpName {
  std::string prefix;  // with the folder
  std::int32_t pid = 0;
  std::uint64_t sequence = 0;  // common to all kinds; a forked child goes on with its parent's
  DumpTrigger trigger = DumpTrigger::kManual;
  std::uint64_t number = 0;  // of its kind; a final one has none
};

// nullopt: the name is another one, as of a dump that was asked for under a name.
std::optional<DumpName> parse_dump_name(std::string_view path);

// "at an interval of bytes", "on request", ...
std::string_view words_of(DumpTrigger trigger);

}  // namespace fathom::formats
