// Locks that are not futexes: of databases, whose waiters sleep or poll until they get them, and of files.
// Identified by the rules of wait_reasons.txt and by the call.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analysis/waits/wait_report.h"

namespace fathom::analysis {

// Whether a rule of wait_reasons.txt is about a lock.
bool is_lock(std::string_view reason);

struct OtherLockRow {
  std::string lock;            // "the lock of a database (SQLite)", "the lock of journal"
  std::string place;           // in the own code, as far as known
  const BlockedRow* row = {};  // whose waits they are; belongs to the WaitReport
};

// Most time first. Of the waits that `waits` shows: no idle ones.
std::vector<OtherLockRow> other_locks(const WaitReport& waits);

}  // namespace fathom::analysis
