// A kernel record -> an explanation in sentences: what was killed, why, what it consisted of, what else was
// large, and what to do. Pure. Every sentence is based on lines of the record; missing facts are reported as
// unknown.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/oom/records.h"

namespace fathom::oom {

struct Part {
  std::string name;  // "anonymous", "files", "shared memory"
  std::uint64_t bytes = 0;
};

struct Explanation {
  std::string who;                   // "reth (pid 46653) was killed"
  std::vector<std::string> why;      // the reason first, then what the numbers say of it
  std::vector<Part> victim;          // what the dead process consisted of: resident parts, page tables, swap
  std::uint64_t resident_bytes = 0;  // of it
  std::vector<Part> group;           // what the group whose limit was met consisted of, the largest first
  std::vector<Task> large;           // other processes of the table, the largest first
  std::vector<std::string> remedies;
};

// `neighbours`: how many other processes to name.
Explanation explain(const Record& record, std::size_t neighbours = 5);

// "Thu Dec  7 00:05:14 2017", "93.216 s after boot", "" where the log does not say.
std::string when(const Record& record);

}  // namespace fathom::oom
