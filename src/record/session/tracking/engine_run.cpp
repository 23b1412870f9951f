#include "record/session/tracking/engine_run.h"

#include <set>

#include "base/clock.h"
#include "linux/process/find.h"
#include "linux/process/status.h"
#include "record/session/notes.h"

namespace fathom::session {

bool keeps_tables(const RecordOptions& options) {
  return options.off_cpu || !options.events.empty() || options.system_calls || options.heap != Heap::kNone ||
         options.companions_walk;
}

EngineRun::EngineRun(const RecordOptions& options, model::Profile& profile, model::Builder& builder,
                     symbolize::Worker& symbols, std::unique_ptr<Source> source)
    : profile_(profile),
      source_(std::move(source)),
      modules_(builder, symbols, source_->place_table(), keeps_tables(options)),
      processes_(profile, modules_, *source_, options.follow_children),
      stacks_(profile, builder, processes_, modules_, symbols, kMaxStacks),
      sink_(profile, processes_, stacks_),
      cpu_times_(processes_) {
  source_->set_processes(processes_);
}

Result<> EngineRun::begin(const std::vector<std::int32_t>& pids, const WhatIfUnreadable& if_unreadable) {
  // The side band runs already: what changes while /proc is read is seen twice, and never not at all.
  for (const std::int32_t pid : pids) {
    if (processes_.read_from_proc(pid)) {
      cpu_times_.begin(pid);
      continue;
    }
    switch (if_unreadable(pid)) {
      case Unreadable::kFails:
        return tl::unexpected<Error>(process::unreadable_process(pid));
      case Unreadable::kIsNoted:
        if (process::read_stat(pid))
          note_once(profile_.quality, "some children of the target are missing: this user may not read them");
        break;
      case Unreadable::kIsIgnored:
        break;
    }
  }
  if (auto started = start(pids); !started) return started;
  profile_.meta.start_ns = monotonic_ns();
  for (const std::int32_t pid : pids) cpu_times_.begin(pid);
  enter_threads(pids, profile_.meta.start_ns);
  return {};
}

Result<> EngineRun::begin_with_exec(std::int32_t pid) {
  processes_.expect_exec(pid, profile_.meta.start_ns);
  if (auto expected = source_->expect_exec(pid); !expected) {
    failed_ = true;
    return expected;
  }
  return start({pid});
}

Result<> EngineRun::start(const std::vector<std::int32_t>& pids) {
  auto started = source_->start(pids);
  failed_ = !started;
  return started;
}

void EngineRun::enter_threads(const std::vector<std::int32_t>& pids, std::uint64_t now_ns) {
  ThreadWaits* waits = source_->waits();
  if (waits == nullptr) return;
  for (const std::int32_t pid : pids) waits->enter(pid, now_ns, batch_.samples);
  sink_.take(batch_);
}

bool EngineRun::join(std::int32_t pid) {
  if (processes_.is_recorded(pid)) return true;
  if (!source_->takes_more() || !processes_.read_from_proc(pid)) return false;
  cpu_times_.begin(pid);
  enter_threads({pid}, monotonic_ns());
  return true;
}

void EngineRun::drain() {
  (void)source_->drain(batch_);
  sink_.take(batch_);
  for (const auto& ended : sink_.take_ended_threads()) {
    cpu_times_.ended(ended);
    if (ended.process) ended_processes_.push_back(ended);
  }
}

void EngineRun::refresh_cpu_times(bool unsampled_only) {
  const std::set<std::int32_t> unsampled = unsampled_by(*source_, processes_).pids;
  if (!unsampled_only || !unsampled.empty()) cpu_times_.refresh(unsampled);
}

void EngineRun::sum_waits(std::uint64_t now_ns) {
  const ThreadWaits* waits = source_->waits();
  if (waits == nullptr) return;
  waits->sum(now_ns, batch_.samples);
  sink_.take(batch_);
}

void EngineRun::reread_doubtful() {
  for (const std::int32_t pid : sink_.take_doubtful_processes())
    if (processes_.is_recorded(pid)) processes_.read_from_proc(pid);
}

void EngineRun::stop() {
  source_->stop();
  refresh_cpu_times();  // samples taken meanwhile are expected, too
}

void EngineRun::cut_waits(std::uint64_t end_ns) {
  ThreadWaits* waits = source_->waits();
  if (waits == nullptr) return;
  waits->finish(end_ns, batch_.samples);
  sink_.take(batch_);
}

}  // namespace fathom::session
