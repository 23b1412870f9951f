#include "cli/record_option_list.h"

#include "cli/number_word.h"
#include "cli/option_groups.h"
#include "cli/record_arguments.h"
#include "cli/seconds_word.h"

namespace fathom::cli {
namespace {

void add_targets(CLI::App& app, RecordArguments& arguments) {
  begin_group(app, kTargetGroup);
  app.add_option("-p,--pid", arguments.pids, "attach to these processes: 12, or 12,34")
      ->delimiter(',')
      ->check(CLI::PositiveNumber)
      ->type_name("PID");
  app.add_option("-n,--name", arguments.name, "attach to the process with exactly this name")
      ->type_name("NAME");
  add_group_options(app, arguments.groups);
}

void add_sources(CLI::App& app, RecordArguments& arguments) {
  session::RecordOptions& options = arguments.options;
  begin_group(app, kRecordGroup);
  app.add_option("-F,--freq", options.frequency_hz, "samples per second and CPU")
      ->capture_default_str()
      ->check(CLI::Range(1, 100000))
      ->type_name("HZ");
  app.add_option("-r,--frequency,--rate", options.frequency_hz, "")
      ->check(CLI::Range(1, 100000))
      ->group(kHidden);
  app.add_option("--sources", arguments.sources, "only these: cpu,wait,memory,heap,heap=exact")
      ->delimiter(',')
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->type_name("LIST");
  app.add_flag("--heap{sampled}", arguments.heap, "also the heap, sampled; --heap=exact: every call")
      ->check(CLI::IsMember({"sampled", "exact"}));
  app.add_flag("--leaks", arguments.leaks, "print leaks at the end; implies --heap=exact");
  app.add_option("--probe", arguments.probes, "count and time calls (docs/probes.md)")
      ->type_name("FUNCTION")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_flag("--flight", arguments.flight, "run for weeks with a bounded file (docs/flight.md)");
}

void add_ends(CLI::App& app, RecordArguments& arguments) {
  session::RecordOptions& options = arguments.options;
  begin_group(app, kStopGroup);
  app.add_option("-d,--duration", arguments.duration_s, "stop after this time: 30, 500ms, 10m, 1h")
      ->transform(seconds_word())
      ->check(CLI::PositiveNumber)
      ->type_name("TIME");
  app.add_option("-D,--delay", options.delay_s, "start after this time")
      ->transform(seconds_word())
      ->check(CLI::NonNegativeNumber)
      ->type_name("TIME");
  app.add_option_function<std::uint64_t>(
         "--until-rss", [&options](std::uint64_t bytes) { options.until_resident_bytes = bytes; },
         "stop when resident memory reaches SIZE (500m, 4g)")
      ->type_name("SIZE")
      ->transform(size_word(SizeZero::kRefused));
  app.add_option_function<std::uint64_t>(
         "--until-live", [&options](std::uint64_t bytes) { options.until_live_bytes = bytes; },
         "with --heap: stop when live heap reaches SIZE")
      ->type_name("SIZE")
      ->transform(size_word(SizeZero::kRefused));
  app.add_flag("--until-stable{1}", arguments.stable_points, "stop when the top shares are known to ±1 point")
      ->check(CLI::Range(0.05, 20.0));
  begin_group(app, kRareGroup);
  app.add_option("--start-when", arguments.begin.when,
                 "begin when this holds: 'cpu > 50%', 'rss > 4g', 'rss > +100m/min'")
      ->type_name("CONDITION");
  app.add_option("--when-log", arguments.begin.log,
                 "begin when a line of this log matches: /var/log/app.log:ERROR")
      ->type_name("FILE:REGEX");
  app.add_option(
         "--around,--load", arguments.around,
         "run this shell command while recording, such as a load generator, and stop when it ends; the recording keeps what it prints and how it ends")
      ->type_name("COMMAND");
  app.add_flag("--continuous", arguments.continuous,
               "record without end into a store, as fathom serve does (docs/serve.md)");
}

void add_results(CLI::App& app, RecordArguments& arguments) {
  session::RecordOptions& options = arguments.options;
  begin_group(app, kOutputGroup);
  app.add_option("-o,--output", options.output, "recording (default: fathom-profiles/TARGET/TIME.fathom)")
      ->type_name("FILE");
  app.add_flag("--flamegraph", arguments.flamegraph, "also draw the flame graph");
  app.add_flag("--open", arguments.open, "afterwards open the page in the browser, as fathom view does");
  app.add_flag("--dry-run", arguments.dry_run, "print what would be done, and what it costs");
}

void add_rare(CLI::App& app, RecordArguments& arguments) {
  session::RecordOptions& options = arguments.options;
  begin_group(app, kRareGroup);
  app.add_flag("--report", arguments.report, "also write the report, as text next to the recording");
  app.add_flag("-q,--quiet", arguments.quiet, "print errors only");
  app.add_flag("-f,--force", options.force,
               "-o may replace any regular file, even in a folder that belongs to another user");
  app.add_flag("--cpu", arguments.cpu, "only CPU time, unless combined with --off-cpu or --memory");
  app.add_flag("--off-cpu", arguments.off_cpu, "only waits");
  app.add_flag("--memory", arguments.memory, "only memory over time");
  app.add_flag("--no-off-cpu", arguments.no_off_cpu, "do not record waits");
  app.add_flag("--no-memory", arguments.no_memory, "do not record memory over time");
  app.add_flag("--no-children", arguments.no_children,
               "do not record processes that the target forks or has forked");
  app.add_option(
         "-e,--event", arguments.events,
         "also record these kernel events with their stacks, such as page-faults or block:*; cycles: sample CPU time by this counter (docs/events.md)")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->type_name("EVENTS");
  app.add_flag(
      "--syscalls", options.system_calls,
      "also count system calls: time, errors, callers and bytes by file, for fathom report --syscalls");
  app.add_option("--engine", arguments.engine, "how stacks are taken")
      ->capture_default_str()
      ->check(CLI::IsMember({"auto", "bpf", "perf", "proc"}));
  app.add_option("--stack-copy", options.stack_copy_bytes, "engine perf: bytes of stack to copy per sample")
      ->capture_default_str()
      ->check(CLI::Range(1024, 65528))
      ->type_name("BYTES");
  app.add_option("--symbols", options.symbol_directory,
                 "folder with unstripped twins or debug files of stripped binaries, or one such file")
      ->check(CLI::ExistingPath)
      ->type_name("PATH");
  app.add_option(
         "--debuginfod", options.debuginfod_urls,
         "fetch debug files of stripped modules from these servers; \"none\" disables it (default: DEBUGINFOD_URLS)")
      ->type_name("URL")
      ->check([](const std::string& text) {
        return text == "none" || text.find("://") != std::string::npos
                   ? std::string()
                   : text + " is not the address of a server: https://HOST or http://HOST:PORT";
      });
  app.add_option("--heap-interval", options.heap_interval_bytes, "average bytes between heap samples")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 30))
      ->type_name("BYTES");
  app.add_flag(
      "--heap-fixed-interval", options.heap_interval_fixed,
      "keep that interval; otherwise it doubles while more than 2,000 heap samples arrive per second");
  app.add_flag("--heap-children", options.heap_children,
               "trace the heap of programs that forked processes execute");
  app.add_flag(
      "--mappings", arguments.mappings,
      "with --heap: also memory that the program maps without an allocator; costs up to 5 % in programs with many system calls (--heap=exact includes it)");
  app.add_flag("--no-mappings", arguments.no_mappings, "with --heap=exact: leave those mappings out");
  app.add_flag(
      "--each-block,--events", options.heap_each_block,
      "with --heap: store the life of each block, for report --size, --lifetime, --address and so on");
  app.add_flag(
      "--lossless", arguments.lossless,
      "with --heap=exact: lose no event; threads of the target may wait for fathom, up to 5 s at a time and 60 s in total (--leaks implies it)");
  app.add_flag(
      "--no-trial,--no-probe", options.heap_no_probe,
      "with --heap: never run a private copy of a stripped program to test its allocator functions; an allocator without names is then traced only if its code and its behaviour are clear");
  app.add_option("--suppressions", arguments.suppressions, "with --leaks: suppressions, as for fathom leaks")
      ->type_name("FILE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option_function<std::uint32_t>(
         "--probe-limit",
         [&arguments](std::uint32_t limit) {
           arguments.options.probe_limit = limit;
           arguments.probe_limit_given = true;
         },
         "with --probe: time at most N calls per second, and only count the others (default: 20,000)")
      ->type_name("N")
      ->check(CLI::Range(10, 10'000'000));
  add_metrics_options(app, arguments.metrics);
  app.add_option(
         "--baseline", arguments.baseline_s,
         "measure how fast the target works for this long before recording starts, and report whether recording slowed it down")
      ->type_name("TIME")
      ->transform(seconds_word())
      ->check(CLI::Range(5.0, 3600.0));
  app.add_option(
         "--work", arguments.work,
         "with --baseline and --scrape: counter that measures work (default: calls that read and write)")
      ->type_name("NAME");
  app.add_option(
         "--span", arguments.span_functions,
         "each call of FUNCTION is a span of this name, for fathom report --spans; NAME=BEGIN..END: from the call of one function to that of another (docs/spans.md)")
      ->type_name("NAME=FUNCTION")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option(
         "--spans", arguments.spans,
         "store the spans that the program wrote: marker files of samply, a folder of them, Chrome traces, OTLP or Jaeger JSON; for fathom report --spans")
      ->type_name("FILE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--marks", arguments.marks,
                 "file to follow; each line that is written to it becomes a mark for fathom diff --base MARK")
      ->type_name("FILE");
  app.add_option_function<std::vector<std::string>>(
         "--tag",
         [&options](const std::vector<std::string>& tags) {
           for (const std::string& tag : tags) options.tags += (options.tags.empty() ? "" : ", ") + tag;
         },
         "word to find the recording by, such as a release or a ticket, for fathom list --tag; may be repeated")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->type_name("WORD")
      ->check([](const std::string& word) {
        return word.empty() || word.find_first_of(",\n") != word.npos ? "a tag is a word without a comma"
                                                                      : std::string();
      });
  app.add_flag(
      "--redact", options.redact,
      "store no arguments of the command; without it only arguments that look like secrets are hidden");
  app.add_option(
         "--repeat", arguments.repeat,
         "run the command N times, one recording each, so that fathom diff can tell change from chance")
      ->type_name("N")
      ->check(CLI::Range(1, 1000));
  app.add_option(
         "--against", arguments.against,
         "with --repeat: alternate with this command, quoted as one word; it is the base of the comparison")
      ->type_name("COMMAND");
  app.add_option_function<std::uint64_t>(
         "--each", [&each = arguments.each_bytes](std::uint64_t bytes) { each = bytes; },
         "with --flight: mark each growth of resident memory by SIZE, and look closely")
      ->type_name("SIZE")
      ->transform(size_word(SizeZero::kRefused));
  app.add_flag("--flight-freeze", arguments.flight_freeze,
               "with --flight: a trigger may freeze the control group of the program, for at most 50 ms");
  app.add_flag(
      "--flight-brake", arguments.flight_brake,
      "with --flight: a trigger may slow the program down by memory.high (version 2), for at most 200 ms");
}

void add_habits(CLI::App& app, RecordArguments& arguments) {
  begin_group(app, kHabitsGroup);
  app.add_flag("-g", arguments.habits.stacks, "accepted for compatibility; fathom always records stacks");
  app.add_option("--call-graph", arguments.habits.call_graph,
                 "accepted for compatibility; fathom unwinds by the program's unwind tables")
      ->type_name("HOW");
  app.add_option("-t,--tid", arguments.habits.tids,
                 "attach to the process of this thread; report --thread shows the thread alone")
      ->delimiter(',')
      ->check(CLI::PositiveNumber)
      ->type_name("TID");
  app.add_flag("-s,--save-only,--no-open", arguments.habits.save_only,
               "accepted for compatibility; fathom opens the page only with --open");
  app.add_flag("--presymbolicate,--unstable-presymbolicate", arguments.habits.names,
               "accepted for compatibility; fathom always stores names");
}

}  // namespace

void add_record_options(CLI::App& app, RecordArguments& arguments) {
  add_targets(app, arguments);
  app.add_flag("-a,--all-cpus", arguments.habits.whole_machine, "every process on this machine");
  app.add_option("command", arguments.options.command, "-- COMMAND ARGUMENTS: launch and record this")
      ->type_name("");
  add_sources(app, arguments);
  add_ends(app, arguments);
  add_results(app, arguments);
  add_rare(app, arguments);
  add_habits(app, arguments);
  app.positionals_at_end();
  app.footer(
      "Without options, fathom records CPU time, waits and memory until the target ends or you press Ctrl-C. --sources records only what it lists. A launched command also gets Ctrl-C, and fathom records it until it ends; a second Ctrl-C ends the recording and leaves the command running. After -d or --until-..., fathom completes the file, then sends SIGTERM to the command and waits up to 10 s. --until-stable takes other bounds (--until-stable=0.5) and stops after 300 s, or after -d.\n"
      "\n"
      "Attaching does not stop or change the target. With --heap, fathom puts hooks into it and removes them at the end; --dry-run lists them. If they cannot be removed (a debugger, a frozen group), the exit status is 6, and a guardian process keeps trying.");
}

void add_top_options(CLI::App& app, RecordArguments& arguments) {
  session::RecordOptions& options = arguments.options;
  add_targets(app, arguments);
  app.add_flag("-a,--all-cpus", arguments.habits.whole_machine, "every process on this machine");
  begin_group(app, kRecordGroup);
  app.add_flag("--heap{sampled}", arguments.heap,
               "also the heap, sampled; shows what is allocated per second")
      ->check(CLI::IsMember({"sampled", "exact"}));
  options.frequency_hz = 99;
  app.add_option("-F,--freq", options.frequency_hz, "samples per second and CPU")
      ->capture_default_str()
      ->check(CLI::Range(1, 10000))
      ->type_name("HZ");
  app.add_option("-d,--duration", arguments.duration_s, "end after this time")
      ->transform(seconds_word())
      ->check(CLI::PositiveNumber)
      ->type_name("TIME");
  begin_group(app, kOutputGroup);
  app.add_option("-o,--output", options.output, "keep the recording in this file")->type_name("FILE");
}

void add_triage_options(CLI::App& app, RecordArguments& arguments) {
  session::RecordOptions& options = arguments.options;
  add_targets(app, arguments);
  app.add_option("command", options.command, "-- COMMAND ARGUMENTS: launch and record this")->type_name("");
  begin_group(app, kRecordGroup);
  app.add_flag("--heap{sampled}", arguments.heap, "the heap, sampled; --heap=exact traces every call")
      ->check(CLI::IsMember({"sampled", "exact"}));
  app.add_option("-d,--duration", arguments.duration_s,
                 "stop after this time (default: 30 s; a launched command: until it ends)")
      ->transform(seconds_word())
      ->check(CLI::PositiveNumber)
      ->type_name("TIME");
  begin_group(app, kOutputGroup);
  app.add_option("-o,--output", options.output, "recording (default: fathom-profiles/TARGET/TIME.fathom)")
      ->type_name("FILE");
  app.positionals_at_end();
  app.footer(
      "Records CPU time, waits and memory together and prints one screen: the kind of problem, where it is, how certain that is, and the next command. fathom help words explains the words.");
}

}  // namespace fathom::cli
