// fathom record: records a command or running processes into a file.
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "analysis/core/words.h"
#include "attach/inject/tracer/detach_guardian.h"
#include "base/clock.h"
#include "base/files.h"
#include "base/output_file.h"
#include "base/shell_word.h"
#include "binary/symbolize/debug_files.h"
#include "binary/symbolize/symbol_cache.h"
#include "cli/command.h"
#include "cli/cost_estimate.h"
#include "cli/drawn_output.h"
#include "cli/load_companion.h"
#include "cli/look_companion.h"
#include "cli/mark_file.h"
#include "cli/notices.h"
#include "cli/output.h"
#include "cli/precedence.h"
#include "cli/progress.h"
#include "cli/record_arguments.h"
#include "cli/record_moments.h"
#include "cli/record_option_list.h"
#include "cli/repeat_runs.h"
#include "cli/serve_targets.h"
#include "cli/span_companion.h"
#include "cli/stale_tracers.h"
#include "cli/stop_requests.h"
#include "cli/until_stable.h"
#include "cli/work_watch.h"
#include "linux/process/command_line.h"
#include "linux/process/group.h"
#include "model/store/default_path.h"
#include "present/sentences/left_sentences.h"
#include "present/sentences/report_sentences.h"
#include "record/session/engine_ladder.h"
#include "record/session/heap/heap_dry_run.h"
#include "record/session/launch.h"
#include "record/session/session.h"
#include "tools/flight/recording/recorder.h"

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

// What became of targets that could not end or be left in order, and what the user can do.
void say_what_is_left(const session::RecordOutcome& outcome) {
  for (const std::int32_t pid : outcome.standing_still) {
    if (outcome.left_running == pid)
      say("fathom: the command (pid {}) is stopped or frozen and cannot end; fathom left it as it is and ends the recording\n",
          pid);
    else
      say("fathom: process {} is stopped or frozen; the recording ends with what fathom has so far\n", pid);
  }
  if (!outcome.outlived_by.empty()) {
    const std::size_t count = outcome.outlived_by.size();
    constexpr std::size_t kMostNamed = 8;
    const auto named = std::span(outcome.outlived_by).first(std::min(count, kMostNamed));
    say("fathom: the command ended, but {} that it started still run{}; fathom neither records nor ends {}: pid {}{}\n",
        count == 1 ? "a process" : fmt::format("{} processes", count), count == 1 ? "s" : "",
        count == 1 ? "it" : "them", fmt::join(named, ", "), count > kMostNamed ? ", ..." : "");
    say("try: fathom record -p {}\n", outcome.outlived_by.front());
  }
  if (!outcome.left_running || !outcome.standing_still.empty()) return;
  const std::int32_t pid = *outcome.left_running;
  if (outcome.left_at_request || outcome.stopped_by == session::StopReason::kInterrupted)
    say("fathom: the command (pid {}) still runs, and was left running\n", pid);
  else
    say("fathom: the command (pid {}) did not end within {} s of SIGTERM, and was left running; kill -KILL {} ends it\n",
        pid, session::kPatienceNs / 1'000'000'000, pid);
}

// Whether a process is not as it was before the recording; also where no recording came about.
bool say_left_changed(const session::RecordOutcome* outcome, const inject::DetachGuardian* guardian) {
  std::vector<int> pids = guardian != nullptr ? guardian->left() : std::vector<int>();
  const auto remedy = [](int pid) {
    say("fathom: fathom-guardian restores process {0} as soon as that is possible; to do it yourself: fathom detach -p {0}\n",
        pid);
  };
  bool left = false;
  if (outcome != nullptr)
    for (const model::LeftChanged& one : outcome->left_changed) {
      left = true;
      std::erase(pids, one.pid);
      say("fathom: error: {}\n", present::left_sentence(one, ""));
      remedy(one.pid);
    }
  for (const int pid : pids) {
    left = true;
    say("fathom: error: process {} was left changed: part of the heap tracer is still in it\n", pid);
    remedy(pid);
  }
  return left;
}

void print_summary(const session::RecordOutcome& outcome, const session::RecordOptions& options) {
  const model::Quality& quality = outcome.quality;
  for (const std::string& obstacle : outcome.obstacles)
    say("fathom: engine {} is used, as {}; fathom doctor says more\n", outcome.engine, obstacle);
  const std::uint64_t lost = quality.lost_ring_full + quality.lost_stack + quality.lost_disk;
  const std::uint64_t of_target = quality.samples - std::min(outcome.cut_in_tracer, quality.samples);
  const std::string complete =
      of_target == 0
          ? ""
          : fmt::format(", {:.2f} % with complete stacks",
                        100.0 * static_cast<double>(quality.complete) / static_cast<double>(of_target));
  // What was not recorded is not counted.
  const bool of_waits = !options.cpu && options.off_cpu && quality.samples == 0;
  const std::string count = options.cpu || quality.samples != 0
                                ? fmt::format("{} samples in {:.1f} s{}, {} lost", quality.samples,
                                              outcome.duration_s, complete, lost)
                            : of_waits ? fmt::format("{} waits in {:.1f} s, {} lost", quality.waits,
                                                     outcome.duration_s, quality.lost_waits)
                                       : fmt::format("recorded {:.1f} s", outcome.duration_s);
  const double kilobytes = static_cast<double>(outcome.file_bytes) / 1024;
  if (outcome.unsampled && outcome.unsampled->all)
    say("fathom: recorded {:.1f} s without samples; {:.1f} KB in {}\n", outcome.duration_s, kilobytes,
        outcome.path);
  else
    say("fathom: {}; {:.1f} KB in {}\n", count, kilobytes, outcome.path);
  if (const auto& unsampled = outcome.unsampled) {
    say("fathom: {}\n", present::unsampled_sentence(*unsampled));
    if (!unsampled->remedy.empty()) say("try: {}\n", unsampled->remedy);
  }
  if (const auto idle = idleness(outcome.cpu_s, outcome.duration_s); idle && options.cpu)
    say("fathom: {}{}\n", *idle,
        options.off_cpu ? fmt::format("; waits: fathom report --waits {}", shell_word(outcome.path)) : "");
  if (outcome.heap && outcome.heap->waited_ns >= 1'000'000)
    say("fathom: heap: threads waited {:.3f} s for the recorder\n",
        static_cast<double>(outcome.heap->waited_ns) * 1e-9);
  if (outcome.heap)
    say("fathom: heap: {} events, {} lost; {:.1f} MB live; {}\n", outcome.heap->events, outcome.heap->lost,
        outcome.heap->live_bytes / 1e6, outcome.heap->stops);
}

// The engine that would record, found as a recording finds it: a command is held before its exec, and never
// released.
Result<std::string> engine_line(session::RecordOptions options) {
  options.give_up_privileges = true;
  std::optional<session::LaunchedProcess> held;
  if (!options.command.empty()) {
    auto prepared = session::LaunchedProcess::prepare(options.command, options.in_child);
    if (!prepared) return tl::unexpected<Error>(prepared.error());
    options.pids = {held.emplace(std::move(*prepared)).pid()};
  }
  session::EngineLadder engines(options);
  const auto engine = engines.next(options.pids);
  if (!engine) return tl::unexpected<Error>(engine.error());
  std::string line = fmt::format("engine: {}\n", session::to_string(engine->engine));
  for (const std::string& obstacle : engines.obstacles())
    line += fmt::format("not a better one, because of: {}\n", obstacle);
  return line;
}

// What recording would cost, and with --heap what it would change in the process. Of a command that is not started nothing is
// known but what each busy CPU and each thousand switches will cost.
Result<int> run_dry(const RecordArguments& arguments) {
  const session::RecordOptions& options = arguments.options;
  std::optional<TargetActivity> activity;
  if (options.command.empty()) {
    const auto pids = recorded_processes(options);
    const ActivityReading before = read_activity(pids);
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    activity = activity_between(before, read_activity(pids));
  }
  const auto engine = engine_line(options);
  if (!engine) return tl::unexpected<Error>(engine.error());
  if (auto written = write_output(
          cost_line(options, activity) + "\n" + size_line(options, activity) + "\n" + *engine, OutputPath{});
      !written)
    return tl::unexpected<Error>(written.error());
  if (options.heap == session::Heap::kNone) return kDone;
  if (!options.command.empty())
    say("fathom: --dry-run can show what --heap changes only for a running process: fathom record --dry-run --heap -p PID\n");
  for (const std::int32_t pid : options.pids) {
    auto text = session::describe_heap_tracing(
        pid, options.symbol_directory, !options.heap_no_probe,
        options.heap == session::Heap::kSampled && !options.heap_each_block && !options.heap_mappings);
    if (!text) return tl::unexpected<Error>(text.error());
    if (auto written = write_output(analysis::printable_lines(*text), OutputPath{}); !written)
      return tl::unexpected<Error>(written.error());
  }
  return kDone;
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

symbolize::Options symbols_of_look(const session::RecordOptions& options) {
  symbolize::Options symbols;
  symbols.symbol_directory = options.symbol_directory;
  symbols.cache_directory = symbolize::default_cache_directory();
  symbols.reader.program = "/proc/self/exe";
  symbols.debuginfod_caches = symbolize::debuginfod_caches();
  return symbols;
}

Result<int> run_record(RecordArguments& arguments) {
  session::RecordOptions& options = arguments.options;
  if (arguments.continuous) return record_without_end(arguments);
  if (!arguments.against.empty() && arguments.repeat == 0) arguments.repeat = 1;
  if (arguments.repeat > 0) {
    const auto done = repeat(arguments);
    if (!done) return tl::unexpected<Error>(done.error());
    if (*done) return **done;
  }
  if (auto settled = settle(arguments); !settled) return tl::unexpected<Error>(settled.error());
  if (arguments.dry_run) {
    say_stale_tracers(options.pids);
    return run_dry(arguments);
  }
  if (options.output == "-")
    return fail(ErrorKind::kUsage, "a recording goes to a file, not to standard output", "-o FILE.fathom");
  const bool named = !options.output.empty();
  options.overwrite = named;
  const auto output = split_output(options.output);
  if (!output) return tl::unexpected<Error>(output.error());
  options.output = output->recording;
  if (!named)
    options.output = store::default_path(options.command.empty() ? options.target : options.command.front(),
                                         wall_clock_ns());
  if (arguments.report)
    if (auto free = may_write_report(options.output, options.force); !free)
      return tl::unexpected<Error>(free.error());

  if (arguments.begin.given()) {
    if (!options.command.empty())
      return fail(ErrorKind::kUsage, "--start-when and --when-log wait for a process that runs already",
                  "fathom record --start-when 'cpu > 50%' -p PID");
    if (!arguments.quiet)
      say("fathom: waiting for {}\n",
          arguments.begin.when.empty() ? "a line of the log" : arguments.begin.when);
    const auto reason = wait_to_begin(arguments.begin, options.pids);
    if (!reason) return tl::unexpected<Error>(reason.error());
    if (!arguments.quiet) say("fathom: {}\n", *reason);
  }
  if (options.command.empty()) come_first();
  options.name_reader = "/proc/self/exe";  // main() knows what it is then
  options.give_up_privileges = true;
  options.record_shutdown = arguments.leaks;
  repair_stale_tracers(options.pids);
  if (options.heap != session::Heap::kNone) repair_all_stale_tracers(options.pids);
  // Before any thread is started: from then on our death, however it comes, takes the tracer out.
  std::optional<inject::DetachGuardian> guardian;
  if (options.heap != session::Heap::kNone) {
    auto started = inject::DetachGuardian::start();
    if (!started) return tl::unexpected<Error>(started.error());
    options.guardian = &guardian.emplace(std::move(*started));
  }
  flight::Options flight;
  flight.flight = arguments.flight;
  flight.triggers.each_bytes = arguments.each_bytes;
  flight.may_freeze = arguments.flight_freeze;
  flight.may_brake = arguments.flight_brake;
  std::optional<flight::HoldGuardian> hold_guardian;
  if (flight.may_freeze || flight.may_brake) {
    auto started = flight::HoldGuardian::start();
    if (!started) return tl::unexpected<Error>(started.error());
    flight.guardian = &hold_guardian.emplace(std::move(*started));
  }
  flight::Recorder recorder(flight);
  std::optional<MarkingCompanion> marking;
  if (!arguments.marks.empty()) {
    auto marks = MarkFile::open_file(arguments.marks);
    if (!marks) return tl::unexpected<Error>(marks.error());
    options.companions.push_back(&marking.emplace(std::move(*marks)));
  }
  std::optional<SpanCompanion> spans;
  if (!arguments.spans.empty()) options.companions.push_back(&spans.emplace(arguments.spans));
  std::optional<StableCompanion> stable;
  if (arguments.stable_points > 0)
    options.companions.push_back(&stable.emplace(arguments.stable_points / 100));
  std::optional<WorkCompanion> work;
  if (arguments.baseline_s > 0) {
    auto watched = WorkWatch::start(options.pids, options.metrics_url, arguments.work);
    if (!watched) return tl::unexpected<Error>(watched.error());
    if (!arguments.quiet)
      say("fathom: looks at the target's work for {:g} s before it records\n", arguments.baseline_s);
    options.companions.push_back(&work.emplace(std::move(*watched), arguments.baseline_s));
  }
  std::optional<LoadCompanion> load;
  if (!arguments.around.empty())
    options.companions.push_back(&load.emplace(arguments.around, options.redact, arguments.quiet));
  std::optional<LookCompanion> look;
  if (options.off_cpu && !arguments.groups.machine)
    options.companions.push_back(&look.emplace(live_looker(symbols_of_look(options)), options.duration_s));
  recorder.open();
  options.companions.push_back(&recorder);  // last, as it takes rows out
  options.companions_walk = flight.flight;
  const auto outcome = run_session(options, arguments.quiet, arguments.group, arguments.triage);
  const bool left_changed = say_left_changed(outcome ? &*outcome : nullptr, options.guardian);
  if (!outcome) return tl::unexpected<Error>(outcome.error());
  if (load && load->problem()) return tl::unexpected<Error>(*load->problem());
  if (!arguments.quiet) say_what_is_left(*outcome);
  if (!outcome->recorded)
    return fail(
        ErrorKind::kSystem,
        outcome->stopped_by == session::StopReason::kTargetEnded
            ? fmt::format("the target ended during the delay of {} s: nothing was recorded", options.delay_s)
            : fmt::format("stopped during the delay of {} s: nothing was recorded", options.delay_s),
        "a shorter --delay");
  // Reports only what is still there: the heap tracer may have taken seconds to leave since it was written.
  if (identity_of(outcome->path) == FileIdentity{})
    return fail(ErrorKind::kSystem, outcome->path + ": the recording was removed after it was written",
                "another folder: -o FILE.fathom");
  if (!arguments.quiet) {
    print_summary(*outcome, options);
    if (stable) say("fathom: {}\n", stable->sentence());
    if (work) say("fathom: {}\n", work->sentence());
    if (load && !load->failed() && !load->sentence().empty()) say("fathom: {}\n", load->sentence());
  }
  if (arguments.flamegraph) {
    auto drawn = draw_flamegraph(outcome->path, options.force);
    if (!drawn) return tl::unexpected<Error>(drawn.error());
    if (!arguments.quiet) say("fathom: flame graph in {}\n", *drawn);
  }
  if (arguments.report) {
    auto written = write_report(outcome->path, options.force);
    if (!written) return tl::unexpected<Error>(written.error());
    if (!arguments.quiet) say("fathom: report in {}\n", *written);
  }
  if (!output->file.empty()) {
    if (auto drawn = draw_output({outcome->path, output->file}, options.force); !drawn)
      return tl::unexpected<Error>(drawn.error());
    if (!arguments.quiet) say("fathom: wrote {}, from the recording {}\n", output->file, outcome->path);
  }
  int status = kDone;
  if (arguments.leaks) {
    auto leaks = describe_leaks(outcome->path, arguments.suppressions);
    if (!leaks) return tl::unexpected<Error>(leaks.error());
    if (outcome->left_running)
      say("fathom: the command had not shut down, so the list includes blocks that it would have freed\n");
    notice(leaks->text);
    status = leaks->status;
  }
  if (arguments.triage) {
    if (auto printed = print_first_screen(outcome->path); !printed)
      return tl::unexpected<Error>(printed.error());
  } else if (arguments.open) {
    open_page(outcome->path);
  } else if (!arguments.quiet && arguments.repeat == 0)
    say("next: fathom {} {}\n", arguments.leaks ? "leaks" : "report", shell_word(outcome->path));
  // A recording of a target without its load is there, but is not what was asked for.
  const bool load_failed = load && load->failed();
  if (load_failed)
    say("fathom: error: {}; the recording ends there\ntry: the command of --load alone, until it succeeds\n",
        load->sentence());
  if (left_changed) return kLeftChanged;
  const bool saw_nothing =
      outcome->unsampled && outcome->unsampled->all && !outcome->saw_waits && !outcome->heap;
  // What the program itself has to say comes first.
  if (outcome->target_status && *outcome->target_status != 0 &&
      outcome->stopped_by != session::StopReason::kDuration &&
      outcome->stopped_by != session::StopReason::kEnough &&
      outcome->stopped_by != session::StopReason::kMemory)
    return *outcome->target_status;
  if (load_failed) return kFailed;
  if (status == kDone && saw_nothing) return kNotPermitted;
  return status;
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
