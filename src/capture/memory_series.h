// The memory of the recorded processes over time, as series of the profile.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "profile/profile.h"

namespace fathom::capture {

class MemorySeries {
 public:
  explicit MemorySeries(profile::Profile& profile) : profile_(profile) {}
  // Reads what is cheap to read (some 20 us a process) and appends one point to each series.
  void sample(std::uint64_t now_ns, const std::vector<std::int32_t>& pids);

 private:
  void add(std::uint64_t now_ns, std::int32_t pid, const char* name, const char* unit, std::uint64_t value);

  profile::Profile& profile_;
  std::map<std::pair<std::int32_t, std::string>, std::size_t> rows_;
};

}  // namespace fathom::capture
