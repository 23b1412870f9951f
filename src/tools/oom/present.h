// Records of the kernel as a person and as a script read them. Keys: docs/oom.md.
#pragma once

#include <string>
#include <vector>

#include "tools/oom/evidence.h"
#include "tools/oom/records.h"

namespace fathom::oom {

struct Shown {
  std::size_t number = 0;  // of the record, from 1
  std::vector<Evidence> evidence;
};

// The chosen records in full, and of the others a line each. `width` 0: lines are not wrapped.
std::string to_text(const std::vector<Record>& records, const std::vector<Shown>& shown, std::size_t width);
// All records.
std::string to_json(const std::vector<Record>& records, const std::vector<Shown>& shown);

}  // namespace fathom::oom
