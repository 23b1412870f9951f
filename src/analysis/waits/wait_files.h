// Waits for files, mapped files, pipes and sockets: how long, how often, how many bytes were asked for and
// moved, and from where.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/core/waits.h"
#include "analysis/waits/distribution.h"
#include "analysis/waits/file_ranges.h"
#include "analysis/waits/wait_site.h"

namespace fathom::analysis {

// What the calls that waited gave back, as far as it is known.
struct Returned {
  double calls = 0;   // with a known result, with those that they stand for
  double bytes = 0;   // moved by them
  double failed = 0;  // of them; a call that a signal interrupted, and that goes on, is none
  void add(const model::Wait& wait);
};

// Touched pages that were not mapped; in rows of mapped files and of memory, with cause page fault.
struct FaultCount {
  double major = 0;  // each of them was counted
  double minor = 0;  // estimated from one in so many
  double minor_variance = 0;
  void add(const model::Fault& fault);
  double minor_error() const;  // half of the 95 % interval
};

struct FileRow {
  std::string name;  // path, peer, "pipe 123"; "(unknown)" if unknown
  model::ObjectKind kind = model::ObjectKind::kNone;
  Cause cause = Cause::kUnknown;  // one row per file and cause
  Distribution waits;
  double bytes_asked = 0;  // by the calls that waited; page faults and calls on vectors ask for none
  Returned returned;
  FaultCount faults;
  struct StackRow {
    std::string path;  // "wait < commit < main"
    std::string
        reason;  // "a commit of a database (SQLite)", of wait_reasons.txt; of waits only, and mostly ""
    WaitSum sum;
    Returned returned;
    FaultCount faults;
  };
  std::vector<StackRow> stacks;  // most time first
  // Of mapped files: where the pages lie that were missing; most faults first. Of calls no offset is recorded.
  std::vector<FileRange> ranges;
};

// What is waited for has the name of a file or of a peer.
bool concerns_files(Cause cause);

// Most time first, then most faults. Idle waits (an accept loop) are left out.
std::vector<FileRow> find_files(const Waits& waits, const Selection& selection, WaitSites& sites);

}  // namespace fathom::analysis
