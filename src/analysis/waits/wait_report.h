// The report on waiting: where the wall time of each thread goes, what it waits for, and which thread it
// waits for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/core/waits.h"
#include "analysis/waits/async_tasks.h"
#include "analysis/waits/contention.h"
#include "analysis/waits/unended_waits.h"
#include "analysis/waits/wait_chains.h"
#include "analysis/waits/wait_files.h"
#include "analysis/waits/wall_time.h"

namespace fathom::analysis {

struct CauseRow {
  Cause cause = Cause::kUnknown;
  Distribution waits;  // without the idle ones
  WaitSum idle;
};

// Waits that a rule calls no problem.
struct IdleRow {
  std::string name;  // of the rule
  std::uint64_t threads = 0;
  WaitSum sum;
};

// All threads of one name.
struct WaitThreadRow {
  std::string name;
  std::uint64_t threads = 0;
  // Exact, from the scheduler, if the whole recording is selected; otherwise from samples and waits.
  double ran_ns = 0, waited_ns = 0, queued_ns = 0;
  double idle_ns = 0;  // of waited_ns
  bool exact = false;
  double wall_ns() const { return ran_ns + waited_ns + queued_ns; }
};

// What threads of one name wait for most, idle waits left out.
struct BlockedRow {
  std::string thread;
  Cause cause = Cause::kUnknown;
  std::string what;       // object or place: "mdbx.dat"; may be empty
  bool released = false;  // `what` is the own code that ended the waits: the stack that waits has none
  std::string reason;     // name of a rule of wait_reasons.txt: "a reader-writer lock"; "" where none holds
  std::string site;  // where `what` is a file or a peer: the place in the program that waited longest for it
  WaitSum sum;
  double share = 0;  // of the wall time of these threads
};

// Waits that a rule of wait_reasons.txt knows, in one place of the own code.
struct ReasonRow {
  std::string reason;  // "room in a full channel"
  std::string site;
  std::string evidence;  // the function on the longest wait's stack that shows it
  std::uint64_t threads = 0;
  WaitSum sum;
};

struct WaitReport {
  WaitSum waited;  // all, with the idle ones
  WaitSum queued;
  WaitSum idle_waits;
  std::vector<CauseRow> causes;        // most time first, run queue among them
  std::vector<IdleRow> idle;           // most time first
  std::vector<WaitThreadRow> threads;  // most time that is no idleness first
  std::vector<BlockedRow> blocked;     // most time first
  std::vector<ReasonRow> reasons;      // most time first
  Contention locks;
  std::vector<FileRow> files;
  std::vector<ChainRow> chains;
  std::vector<UnendedRow> unended;
  std::vector<AsyncTaskRow> tasks;  // of tokio; empty: there are none
  WallTime wall;
  // Only of waits of which sums are known and no moments (model/wait_sums.h): parts of the time of all threads, instead of `wall`. Not of
  // selected stacks.
  WallTime thread_time;
  // Of the time that threads could run and had no CPU: the quota of their control group was used up. The rest was the run queue.
  double throttled_ns = 0;
  // Of a file without its end: waits that it does not hold yet, as they had not ended when its last block was written.
  double open_ns = 0;
  bool folds_idle = false;  // the waits of idle workers are not in blocked
};

WaitReport make_wait_report(const model::Profile& profile, const Selection& selection);

}  // namespace fathom::analysis
