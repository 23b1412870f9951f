// When the selected waits lie, by groups of them: who goes over the time in pieces reads only the groups that reach into a piece,
// because waits are recorded nearly in the order of time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "analysis/core/waits.h"

namespace fathom::analysis {

class WaitTimes {
 public:
  explicit WaitTimes(const Waits& waits) : waits_(waits), groups_(waits.rows().size() / kRowsOfGroup + 1) {
    std::size_t number = 0;
    for (const SelectedWait& row : waits.rows()) {
      Group& group = groups_[number++ / kRowsOfGroup];
      group.first_ns = std::min(group.first_ns, row.wait.start_ns);
      group.last_ns = std::max(group.last_ns, row.wait.start_ns + row.wait.waited_ns + row.wait.queued_ns);
    }
  }

  // visit(row), in the order of Waits::rows(): at least for each wait that begins before `end_ns` and ends at `first_ns` or later.
  template <class Visit>
  void for_each_near(std::uint64_t first_ns, std::uint64_t end_ns, Visit visit) const {
    std::size_t number = 0;
    const SelectedWaits rows = waits_.rows();
    for (auto row = rows.begin(); row != rows.end(); ++row) {
      const Group& group = groups_[number++ / kRowsOfGroup];
      if (group.first_ns < end_ns && group.last_ns >= first_ns) visit(*row);  // only what is read is unpacked
    }
  }

 private:
  static constexpr std::size_t kRowsOfGroup = 512;
  struct Group {
    std::uint64_t first_ns = UINT64_MAX, last_ns = 0;
  };

  const Waits& waits_;
  std::vector<Group> groups_;
};

}  // namespace fathom::analysis
