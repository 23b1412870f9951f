// What `fathom record` says when a recording has ended: on standard error, with what the user can do.
#pragma once

#include "attach/inject/tracer/detach_guardian.h"
#include "record/session/session.h"

namespace fathom::cli {

// What became of targets that could not end or be left in order.
void say_what_is_left(const session::RecordOutcome& outcome);

// Whether a process is not as it was before the recording. nullptr: no recording came about, or the heap was not traced.
bool say_left_changed(const session::RecordOutcome* outcome, const inject::DetachGuardian* guardian);

// How much was recorded, how complete it is, and where it is.
void print_summary(const session::RecordOutcome& outcome, const session::RecordOptions& options);

}  // namespace fathom::cli
