// fathom record: records a command or running processes into a file.
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attach/inject/tracer/detach_guardian.h"
#include "base/clock.h"
#include "base/files.h"
#include "base/output_file.h"
#include "base/shell_word.h"
#include "cli/command.h"
#include "cli/drawn_output.h"
#include "cli/notices.h"
#include "cli/precedence.h"
#include "cli/progress.h"
#include "cli/record_arguments.h"
#include "cli/record_companions.h"
#include "cli/record_dry_run.h"
#include "cli/record_moments.h"
#include "cli/record_option_list.h"
#include "cli/record_outcome.h"
#include "cli/repeat_runs.h"
#include "cli/serve_targets.h"
#include "cli/stale_tracers.h"
#include "cli/stop_requests.h"
#include "linux/process/group.h"
#include "model/store/default_path.h"
#include "record/session/session.h"

namespace fathom::cli {
namespace {

// Runs a session to its end, with the signals and the terminal of this process as its inputs.
Result<session::RecordOutcome> run_session(session::RecordOptions options, bool quiet,
                                           const std::optional<process::Group>& group, bool triage) {
  StopRequests stops(!options.command.empty());
  options.in_child = [&stops] { stops.undo_in_child(); };
  options.free_tables = false;
  options.hurry = [&stops] {
    pollfd ready{stops.fd(), POLLIN, 0};
    return ::poll(&ready, 1, 0) == 1;
  };
  Progress progress(quiet, options, triage);
  session::Session session(std::move(options));
  if (group) session.follow([&group] { return process::members_of(*group); });
  if (auto started = session.start(); !started) return tl::unexpected<Error>(started.error());
  for (session.step(); !session.ended(); session.step()) {
    pollfd ready[] = {{session.poll_fd(), POLLIN, 0}, {stops.fd(), POLLIN, 0}};
    (void)::poll(ready, 2, session.wait_ms());
    int signal = 0;
    while (const auto received = stops.take(session.command_pid())) {
      session.request_stop(received->request);
      signal = received->signal;
    }
    progress.tell(session);
    progress.tell_phase(session, signal);
  }
  progress.clear();
  progress.tell_unseen(session);  // of a program that ended before the first step did
  return session.outcome();
}

// All runs of --repeat. A number in the process that was asked for them, when all is done; none in one that is to record a
// run, whose command and file the arguments then have.
Result<std::optional<int>> repeat(RecordArguments& arguments) {
  session::RecordOptions& options = arguments.options;
  if (options.command.empty() || !arguments.pids.empty() || !arguments.name.empty() ||
      arguments.groups.given() != 0)
    return fail(ErrorKind::kUsage, "--repeat runs a command again and again",
                "fathom record --repeat 5 --against 'OLD COMMAND' -- NEW COMMAND");
  if (arguments.leaks || arguments.dry_run || options.output == "-")
    return fail(ErrorKind::kUsage, "--repeat makes recordings to compare",
                "without --leaks, --dry-run and -o -");
  RepeatOptions wanted;
  std::vector<std::string> against;
  wanted.count = arguments.repeat;
  wanted.quiet = arguments.quiet;
  if (!arguments.against.empty()) {
    auto words = words_of_command(arguments.against);
    if (!words) return tl::unexpected<Error>(words.error());
    wanted.has_against = true;
    against = std::move(*words);
  }
  wanted.output =
      options.output.empty() ? store::default_path(options.command.front(), wall_clock_ns()) : options.output;
  auto run = repeat_runs(wanted);
  if (!run) return tl::unexpected<Error>(run.error());
  if (!run->to_record) return run->status;
  if (run->to_record->against) options.command = against;
  options.output = run->to_record->path;
  return std::nullopt;
}

// The option of record that --continuous has no use for; empty: there is none.
std::string_view useless_without_end(const RecordArguments& arguments) {
  const std::pair<bool, std::string_view> given[] = {
      {arguments.duration_s > 0, "-d"},
      {!arguments.heap.empty(), "--heap"},
      {!arguments.begin.when.empty(), "--start-when"},
      {!arguments.begin.log.empty(), "--when-log"},
      {!arguments.around.empty(), "--around"},
      {arguments.stable_points > 0, "--until-stable"},
      {arguments.repeat > 0, "--repeat"},
      {arguments.flight, "--flight"},
      {!arguments.probes.empty(), "--probe"},
      {!arguments.events.empty(), "-e"},
      {arguments.options.system_calls, "--syscalls"},
      {!arguments.span_functions.empty(), "--span"},
      {!arguments.spans.empty(), "--spans"},
      {!arguments.marks.empty(), "--marks"},
      {arguments.flamegraph, "--flamegraph"},
      {arguments.report, "--report"},
      {arguments.open, "--open"},
  };
  for (const auto& [is_given, name] : given)
    if (is_given) return name;
  return {};
}

// --continuous: fathom serve with the targets and the rate of record.
Result<int> record_without_end(const RecordArguments& arguments) {
  std::vector<std::string> targets;
  for (const std::int32_t pid : arguments.pids) targets.push_back(std::to_string(pid));
  if (!arguments.name.empty()) targets.push_back(arguments.name);
  if (!arguments.options.command.empty())
    return fail(ErrorKind::kUsage, "--continuous records processes that run already, or come later",
                "fathom serve NAME");
  if (const std::string_view option = useless_without_end(arguments); !option.empty())
    return fail(ErrorKind::kUsage, fmt::format("{} does not work with --continuous", option),
                "fathom serve NAME (fathom serve --help lists its options)");
  GroupArguments groups = arguments.groups;
  groups.machine = groups.machine || arguments.habits.whole_machine;
  const std::uint32_t usual_hz = session::RecordOptions().frequency_hz;
  const std::uint32_t hz = arguments.options.frequency_hz;
  return serve_targets(targets, groups, arguments.options.output, hz == usual_hz ? 0 : hz);
}

// As the user would, so that it ends with the user's Ctrl-C.
void open_page(const std::string& recording) {
  std::string words[] = {"fathom", "view", recording};
  char* const arguments[] = {words[0].data(), words[1].data(), words[2].data(), nullptr};
  ::execv("/proc/self/exe", arguments);
  say("fathom: cannot open the page: {}\n", std::strerror(errno));
}

// Where the recording goes, and what is drawn from it. A file that the user did not name is never overwritten.
Result<DrawnOutput> choose_output(RecordArguments& arguments) {
  session::RecordOptions& options = arguments.options;
  if (options.output == "-")
    return fail(ErrorKind::kUsage, "a recording goes to a file, not to standard output", "-o FILE.fathom");
  options.overwrite = !options.output.empty();
  auto output = split_output(options.output);
  if (!output) return output;
  options.output = output->recording;
  if (!options.overwrite)
    options.output = store::default_path(options.command.empty() ? options.target : options.command.front(),
                                         wall_clock_ns());
  if (arguments.report)
    if (auto free = may_write_report(options.output, options.force); !free)
      return tl::unexpected<Error>(free.error());
  return output;
}

Result<> wait_for_condition(const RecordArguments& arguments) {
  const BeginCondition& begin = arguments.begin;
  if (!begin.given()) return {};
  if (!arguments.options.command.empty())
    return fail(ErrorKind::kUsage, "--start-when and --when-log wait for a process that runs already",
                "fathom record --start-when 'cpu > 50%' -p PID");
  if (!arguments.quiet)
    say("fathom: waiting for {}\n", begin.when.empty() ? "a line of the log" : begin.when);
  const auto reason = wait_to_begin(begin, arguments.options.pids);
  if (!reason) return tl::unexpected<Error>(reason.error());
  if (!arguments.quiet) say("fathom: {}\n", *reason);
  return {};
}

// Why there is no recording, though its session ended in order.
Result<> check_recorded(const session::RecordOutcome& outcome, const session::RecordOptions& options) {
  if (!outcome.recorded)
    return fail(
        ErrorKind::kSystem,
        outcome.stopped_by == session::StopReason::kTargetEnded
            ? fmt::format("the target ended during the delay of {} s: nothing was recorded", options.delay_s)
            : fmt::format("stopped during the delay of {} s: nothing was recorded", options.delay_s),
        "a shorter --delay");
  // Reports only what is still there: the heap tracer may have taken seconds to leave since it was written.
  if (identity_of(outcome.path) == FileIdentity{})
    return fail(ErrorKind::kSystem, outcome.path + ": the recording was removed after it was written",
                "another folder: -o FILE.fathom");
  return {};
}

// The picture, the report and the file that the options ask for. `drawn`: empty, or the file of -o.
Result<> write_products(const RecordArguments& arguments, const std::string& recording,
                        const std::string& drawn) {
  const bool force = arguments.options.force;
  if (arguments.flamegraph) {
    auto picture = draw_flamegraph(recording, force);
    if (!picture) return tl::unexpected<Error>(picture.error());
    if (!arguments.quiet) say("fathom: flame graph in {}\n", *picture);
  }
  if (arguments.report) {
    auto report = write_report(recording, force);
    if (!report) return tl::unexpected<Error>(report.error());
    if (!arguments.quiet) say("fathom: report in {}\n", *report);
  }
  if (drawn.empty()) return {};
  if (auto written = draw_output({recording, drawn}, force); !written) return written;
  if (!arguments.quiet) say("fathom: wrote {}, from the recording {}\n", drawn, recording);
  return {};
}

// --leaks: what was never freed. The exit status for it.
Result<int> print_leaks(const RecordArguments& arguments, const session::RecordOutcome& outcome) {
  auto leaks = describe_leaks(outcome.path, arguments.suppressions);
  if (!leaks) return tl::unexpected<Error>(leaks.error());
  if (outcome.left_running)
    say("fathom: the command had not shut down, so the list includes blocks that it would have freed\n");
  notice(leaks->text);
  return leaks->status;
}

// The first screen of triage, the page of --open, or the command to go on with.
Result<> show_recording(const RecordArguments& arguments, const std::string& recording) {
  if (arguments.triage) return print_first_screen(recording);
  if (arguments.open)
    open_page(recording);
  else if (!arguments.quiet && arguments.repeat == 0)
    say("next: fathom {} {}\n", arguments.leaks ? "leaks" : "report", shell_word(recording));
  return {};
}

// The status of the command that was recorded, if it ended by itself with another one than 0.
std::optional<int> status_of_target(const session::RecordOutcome& outcome) {
  using session::StopReason;
  const bool ended_by_fathom = outcome.stopped_by == StopReason::kDuration ||
                               outcome.stopped_by == StopReason::kEnough ||
                               outcome.stopped_by == StopReason::kMemory;
  if (!outcome.target_status || *outcome.target_status == 0 || ended_by_fathom) return std::nullopt;
  return outcome.target_status;
}

// Everything after the session: what was made of it, and the exit status.
Result<int> finish(const RecordArguments& arguments, const session::RecordOutcome& outcome,
                   const RecordCompanions& companions, const std::string& drawn) {
  if (!arguments.quiet) say_what_is_left(outcome);
  if (auto there = check_recorded(outcome, arguments.options); !there)
    return tl::unexpected<Error>(there.error());
  if (!arguments.quiet) {
    print_summary(outcome, arguments.options);
    companions.say_results();
  }
  if (auto written = write_products(arguments, outcome.path, drawn); !written)
    return tl::unexpected<Error>(written.error());
  int status = kDone;
  if (arguments.leaks) {
    const auto leaks = print_leaks(arguments, outcome);
    if (!leaks) return leaks;
    status = *leaks;
  }
  if (auto shown = show_recording(arguments, outcome.path); !shown)
    return tl::unexpected<Error>(shown.error());
  companions.say_load_failure();
  // What the program itself has to say comes first.
  if (const auto target_status = status_of_target(outcome)) return *target_status;
  // A recording of a target without its load is there, but is not what was asked for.
  if (companions.load_failed()) return kFailed;
  const bool saw_nothing = outcome.unsampled && outcome.unsampled->all && !outcome.saw_waits && !outcome.heap;
  return status == kDone && saw_nothing ? kNotPermitted : status;
}

Result<int> record_once(RecordArguments& arguments) {
  session::RecordOptions& options = arguments.options;
  const auto output = choose_output(arguments);
  if (!output) return tl::unexpected<Error>(output.error());
  if (auto begun = wait_for_condition(arguments); !begun) return tl::unexpected<Error>(begun.error());
  if (options.command.empty()) come_first();
  options.name_reader = "/proc/self/exe";  // main() knows what it is then
  options.give_up_privileges = true;
  options.record_shutdown = arguments.leaks;
  repair_stale_tracers(options.pids);
  // Before any thread is started: from then on our death, however it comes, takes the tracer out.
  std::optional<inject::DetachGuardian> guardian;
  if (options.heap != session::Heap::kNone) {
    repair_all_stale_tracers(options.pids);
    auto started = inject::DetachGuardian::start();
    if (!started) return tl::unexpected<Error>(started.error());
    options.guardian = &guardian.emplace(std::move(*started));
  }
  RecordCompanions companions;
  if (auto started = companions.start(arguments); !started) return tl::unexpected<Error>(started.error());

  const auto outcome = run_session(options, arguments.quiet, arguments.group, arguments.triage);
  const bool left_changed = say_left_changed(outcome ? &*outcome : nullptr, options.guardian);
  if (!outcome) return tl::unexpected<Error>(outcome.error());
  if (const auto problem = companions.load_problem()) return tl::unexpected<Error>(*problem);
  const auto status = finish(arguments, *outcome, companions, output->file);
  return status && left_changed ? Result<int>(kLeftChanged) : status;
}

Result<int> run_record(RecordArguments& arguments) {
  if (arguments.continuous) return record_without_end(arguments);
  if (!arguments.against.empty() && arguments.repeat == 0) arguments.repeat = 1;
  if (arguments.repeat > 0) {
    const auto done = repeat(arguments);
    if (!done) return tl::unexpected<Error>(done.error());
    if (*done) return **done;
  }
  if (auto settled = settle(arguments); !settled) return tl::unexpected<Error>(settled.error());
  if (!arguments.dry_run) return record_once(arguments);
  say_stale_tracers(arguments.options.pids);
  return run_dry(arguments);
}

}  // namespace

Run add_record(CLI::App& app) {
  auto arguments = std::make_shared<RecordArguments>();
  add_record_options(app, *arguments);
  return [arguments] { return run_record(*arguments); };
}

// All that is cheap, for as long as it takes to see what kind of problem it is; what to look at next is in the report.
Run add_triage(CLI::App& app) {
  auto arguments = std::make_shared<RecordArguments>();
  arguments->triage = true;
  arguments->typed = "fathom triage";
  add_triage_options(app, *arguments);
  return [arguments] {
    constexpr double kUsual_s = 30;
    if (arguments->options.command.empty() && arguments->duration_s <= 0) arguments->duration_s = kUsual_s;
    return run_record(*arguments);
  };
}

}  // namespace fathom::cli
