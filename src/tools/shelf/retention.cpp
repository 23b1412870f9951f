#include "tools/shelf/retention.h"

#include <algorithm>
#include <map>

namespace fathom::shelf {

std::vector<Removal> choose(const std::vector<Recording>& recordings, const Retention& rule,
                            std::uint64_t now_unix_ns) {
  std::vector<bool> may_go(recordings.size());
  std::map<std::string, std::size_t> newer;  // recordings of a program that are newer than the one looked at
  for (std::size_t i = recordings.size(); i-- > 0;) {
    const Recording& row = recordings[i];
    may_go[i] = row.problem.empty() && !row.being_written &&
                (rule.program.empty() || row.program == rule.program) &&
                (rule.tag.empty() || has_tag(row, rule.tag)) && newer[row.program] >= rule.keep;
    ++newer[row.program];
  }
  std::vector<Removal> removals;
  std::vector<bool> goes(recordings.size());
  const auto remove = [&](std::size_t i, Removal::Reason reason) {
    goes[i] = true;
    removals.push_back({i, reason});
  };
  if (rule.older_than_ns)
    for (std::size_t i = 0; i < recordings.size(); ++i)
      if (may_go[i] && recordings[i].start_unix_ns < now_unix_ns &&
          now_unix_ns - recordings[i].start_unix_ns > *rule.older_than_ns)
        remove(i, Removal::Reason::kAge);
  if (rule.most_bytes) {
    std::uint64_t left = 0;
    for (std::size_t i = 0; i < recordings.size(); ++i)
      if (!goes[i]) left += recordings[i].bytes;
    for (std::size_t i = 0; i < recordings.size() && left > *rule.most_bytes; ++i) {
      if (!may_go[i] || goes[i]) continue;
      left -= recordings[i].bytes;
      remove(i, Removal::Reason::kSize);
    }
  }
  return removals;
}

}  // namespace fathom::shelf
