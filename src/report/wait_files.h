// Waits for files, mapped files, pipes and sockets: how long, how often, how many bytes were asked for and
// moved, and from where.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/distribution.h"
#include "report/wait_site.h"
#include "report/waits.h"

namespace fathom::report {

// What the calls that waited gave back, as far as it is known.
struct Returned {
  double calls = 0;   // with a known result, with those that they stand for
  double bytes = 0;   // moved by them
  double failed = 0;  // of them; a call that a signal interrupted, and that goes on, is none
  void add(const profile::Wait& wait);
};

struct FileRow {
  std::string name;  // path, peer, "pipe 123"; "(unknown)" when it is not known
  profile::ObjectKind kind = profile::ObjectKind::kNone;
  Cause cause = Cause::kUnknown;  // one row per file and cause
  Distribution waits;
  double bytes_asked = 0;  // by the calls that waited; page faults and calls on vectors ask for none
  Returned returned;
  struct StackRow {
    std::string path;  // "wait < commit < main"
    WaitSum sum;
    Returned returned;
  };
  std::vector<StackRow> stacks;  // most time first
};

// Most time first. Idle waits (an accept loop) are left out.
std::vector<FileRow> find_files(const Waits& waits, WaitSites& sites);

}  // namespace fathom::report
