#include "analysis/waits/other_locks.h"

#include <algorithm>
#include <array>

namespace fathom::analysis {

bool is_lock(std::string_view reason) {
  constexpr std::array<std::string_view, 5> kLocks = {"the interpreter's lock", "the lock of a database",
                                                      "a row's transaction to end", "a lock of the database",
                                                      "the writers' lock of a database"};
  return std::ranges::any_of(kLocks, [&](std::string_view start) { return reason.starts_with(start); });
}

std::vector<OtherLockRow> other_locks(const WaitReport& waits) {
  std::vector<OtherLockRow> rows;
  for (const BlockedRow& row : waits.blocked) {
    if (row.cause == Cause::kFutex) continue;  // these have rows of their own, by address
    if (is_lock(row.reason))
      rows.push_back({row.reason, row.cause == Cause::kFileLock ? row.site : row.what, &row});
    else if (row.cause == Cause::kFileLock)
      rows.push_back({"the lock of " + (row.what.empty() ? "a file" : row.what), row.site, &row});
  }
  return rows;
}

}  // namespace fathom::analysis
