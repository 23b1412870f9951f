// The settings of jemalloc ("prof:true,lg_prof_sample:19"): what each pair of such a text does, which are not what they look
// like, and what they will write. Pure; facts of a target are given. Source: jemalloc 5.3, doc/jemalloc.xml.in and
// src/jemalloc.c (malloc_conf_init).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace fathom::doctor {

// The known facts about the allocator that will read the text.
struct MallocConfTarget {
  std::optional<std::string> prefix;  // of its functions: "", "_rjem_"; not set: not known
  std::optional<bool> profiling;      // was it built with --enable-prof
  std::string version;                // "5.3.0"; empty: not known
  bool running = false;               // the process runs already
  double bytes_per_s = 0;             // how much it allocates; 0: not known
  // Whether the target finds this folder; not set: not known.
  std::function<bool(const std::string&)> folder_exists{};
};

enum class ConfVerdict : std::uint8_t {
  kFine,
  kDoubtful,  // it does what it says, which is seldom what is wanted
  kWithout,   // it has no effect here
  kWrong,     // it is not read: unknown, or no value for it
};

struct ConfRow {
  std::string pair;
  ConfVerdict verdict = ConfVerdict::kFine;
  std::string text;  // what it does, or why it does not
};

struct ConfCheck {
  std::string variable;  // in which it must stand: "MALLOC_CONF", "_RJEM_MALLOC_CONF"; empty: not known
  std::vector<ConfRow> rows;
  std::vector<std::string> sentences;  // about all of it: files it will write, what is missing
  bool assumed_rate = false;           // a figure is for a rate of allocation that was not measured
  bool wrong() const;                  // some pair is not read or has no effect
};

// The variable of the environment that an allocator with such a prefix reads.
std::string variable_of(std::string_view prefix);

// `text` may stand behind "NAME=", which is then checked too.
ConfCheck check_malloc_conf(std::string_view text, const MallocConfTarget& target);

// A text for a purpose: "leak", "production", "peak". kUsage for another word.
Result<std::string> malloc_conf_for(std::string_view purpose, const MallocConfTarget& target);

std::string to_text(const ConfCheck& check);

}  // namespace fathom::doctor
