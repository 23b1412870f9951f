// Progress of a recording on a terminal: the target, a line of figures that is updated each second, and why
// it does not end at once. For launched commands and attached processes alike. Nothing here waits for the
// terminal (notice_now()), and nothing is written without a reader or if the command draws its own screen.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/cost_estimate.h"
#include "cli/first_look.h"
#include "record/session/session.h"

namespace fathom::cli {

// "the target used 3.0 % of one CPU only" where that is little for a time that says something; else nothing.
// `cpu_s`: by the scheduler's clock, and not by samples: what could not be sampled is not idle.
std::optional<std::string> idleness(std::optional<double> cpu_s, double seconds);

// What the line of figures shows.
struct ProgressFigures {
  double seconds = 0;
  std::optional<double> of_seconds;  // the limit that was asked for
  std::uint64_t samples = 0, lost = 0;
  std::uint64_t target_bytes = 0;          // resident, all processes that are recorded; 0: not known
  std::optional<double> target_cpus = {};  // that it used since the line before; nullopt: unknown
  std::string hot, hot_share;              // the hottest function so far; empty: not known yet
  double own_cpu = 0;                      // of one CPU, since the line before
  std::uint64_t own_bytes = 0;             // resident
  std::uint64_t file_bytes = 0;
};
// "7 of 15 s · 4,386 samples · target 1.82 CPUs · hot: parse_line 41 % · 512.0 MiB resident · fathom 1.2 % of a CPU, 38.0 MiB ·
// 14.0 KiB written". What is lost follows the samples. At most `columns`: parts at the end are left out first, and long names are
// shortened. 0: no limit.
std::string progress_line(const ProgressFigures& figures, std::size_t columns = 0);
// "7 of 30 s · 98 % of CPU time is below parse_line (slow.cpp:24), almost all of it …": what triage has found so far.
std::string sentence_line(const ProgressFigures& figures, const std::string& sentence, std::size_t columns);

// "recording ./server (pid 812): CPU at 999 Hz, waits, memory, heap sampled".
std::string opening_line(const session::RecordOptions& options, std::optional<std::int32_t> command_pid);

class Progress {
 public:
  // `triage`: the line shows the first sentence of the report, once there is one.
  Progress(bool quiet, const session::RecordOptions& options, bool triage);

  void tell(const session::Session& session);
  // Which allocators are not traced, and why: printed at once, wherever the output goes.
  void tell_unseen(const session::Session& session);
  // Why it does not end at once, once for each phase. `signal`: what the user sent, 0: none.
  void tell_phase(const session::Session& session, int signal);
  void clear();

 private:
  void tell_opening(const session::Session& session);
  void tell_tracing(const session::Session& session);
  ProgressFigures figures_of(const session::Session& session);
  bool may_draw(const session::Session& session) const;

  const bool quiet_;
  const bool launched_;
  const bool triage_;
  std::optional<FirstLook> look_;  // if anybody is to see an answer
  const std::optional<double> of_seconds_;
  const std::vector<std::int32_t> pids_;
  session::RecordOptions options_;
  ActivityReading activity_;  // before the recording
  bool shown_ = false, idle_told_ = false, tracing_told_ = false, opening_told_ = false;
  std::size_t unseen_told_ = 0, found_by_code_told_ = 0;
  std::uint64_t next_ns_ = 0, before_ns_ = 0, cpu_before_ns_ = 0;
  std::optional<double> target_before_s_;
  session::Phase told_ = session::Phase::kHeld;
};

}  // namespace fathom::cli
