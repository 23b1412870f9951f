// What runs next to a recording, as the options of `fathom record` ask: marks, spans, a load, looks at threads, triggers.
#pragma once

#include <optional>

#include "base/result.h"
#include "cli/load_companion.h"
#include "cli/look_companion.h"
#include "cli/mark_file.h"
#include "cli/record_arguments.h"
#include "cli/span_companion.h"
#include "cli/until_stable.h"
#include "cli/work_watch.h"
#include "tools/flight/recording/recorder.h"

namespace fathom::cli {

class RecordCompanions {
 public:
  // Adds them to `arguments.options`; this object must outlive the session. With --baseline it first watches the target for so long. Call
  // it before threads are started: the guardian of a flight recording is a child process.
  Result<> start(RecordArguments& arguments);

  // Why the load could not be started; nullopt: it was, or there is none.
  std::optional<Error> load_problem() const;
  // The load ended with another status than 0.
  bool load_failed() const { return load_ && load_->failed(); }
  // On standard error: what they found out; and that the load failed.
  void say_results() const;
  void say_load_failure() const;

 private:
  Result<> start_recorder(const RecordArguments& arguments);
  Result<> start_work(const RecordArguments& arguments);

  std::optional<flight::HoldGuardian> hold_guardian_;
  std::optional<flight::Recorder> recorder_;
  std::optional<MarkingCompanion> marking_;
  std::optional<SpanCompanion> spans_;
  std::optional<StableCompanion> stable_;
  std::optional<WorkCompanion> work_;
  std::optional<LoadCompanion> load_;
  std::optional<LookCompanion> look_;
};

}  // namespace fathom::cli
