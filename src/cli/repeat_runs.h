// record --repeat: several runs of a command, each recorded into a file of its own, in turn with a second command where one
// is given, so that a machine that gets slower or warmer meets both sides alike. Each run is recorded by a process of its
// own, which is an ordinary `fathom record`: one that fails takes nothing along.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace fathom::cli {

class StopRequests;

struct PlannedRun {
  bool against = false;    // of the second command, which is base then
  std::size_t number = 0;  // of its side, from 1
  std::string path;        // of its recording
};

// `output`: where a single recording would go. The order within the first pair is `against_first`, and every other pair has
// the other one (ABBA): what drifts evenly adds the same to both sides.
std::vector<PlannedRun> plan_runs(std::size_t count, bool has_against, bool against_first,
                                  const std::string& output);

// The words of a command as a shell parts them, with its quotes and backslashes; nothing is expanded. kUsage where a quote
// has no end, or there is no word.
Result<std::vector<std::string>> words_of_command(const std::string& text);

// What of the runs that were made whole can be compared, as a line to type; "" of too few.
std::string comparison_of(const std::vector<PlannedRun>& made);

struct RepeatOptions {
  std::size_t count = 1;
  bool has_against = false;
  std::string output;
  bool quiet = false;
};

// Forks for each run and waits for it. In the process that is to record a run, returns it: that process goes on as if the
// user had asked for this run alone. In the first process, after the last run, or after one that failed or was interrupted,
// returns without a run; the recordings so far have then been named. Signals to end go to the run at hand, as
// StopRequests passes them on, and no other run is begun.
struct RepeatedRun {
  std::optional<PlannedRun> to_record;
  int status = 0;  // of all, without to_record: 0, or of the run that was the last
};
Result<RepeatedRun> repeat_runs(const RepeatOptions& options);

}  // namespace fathom::cli
