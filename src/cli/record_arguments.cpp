#include "cli/record_arguments.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "cli/named_target.h"
#include "cli/notices.h"
#include "cli/seconds_word.h"
#include "cli/until_stable.h"
#include "process/command_line.h"
#include "process/find.h"
#include "process/status.h"

namespace fathom::cli {
namespace {

// Stacks are always recorded and walked in one way, and whole processes are.
Result<> follow_habits(RecordArguments& arguments) {
  const Habits& habits = arguments.habits;
  arguments.groups.machine = habits.whole_machine;
  if (habits.whole_machine && !arguments.heap.empty())
    return fail(ErrorKind::kUsage,
                "the heap is traced of programs that were asked for, and not of all that run",
                "fathom record --heap -p PID");
  for (const std::int32_t tid : habits.tids) {
    const auto status = process::read_status(tid);
    if (!status)
      return fail(ErrorKind::kNotFound, fmt::format("thread {}: there is none", tid), "ps -eLf lists them");
    arguments.pids.push_back(status->pid);
    if (!arguments.quiet)
      say("fathom: thread {} is one of process {}, which is recorded whole; fathom report --thread {} shows "
          "it alone\n",
          tid, status->pid, tid);
  }
  std::ranges::sort(arguments.pids);
  arguments.pids.erase(std::unique(arguments.pids.begin(), arguments.pids.end()), arguments.pids.end());
  return {};
}

// All processes of the group.
Result<> choose_group(RecordArguments& arguments) {
  session::RecordOptions& options = arguments.options;
  auto group = find_group(arguments.groups);
  if (!group) return tl::unexpected<Error>(group.error());
  options.pids = process::members_of(*group);
  options.pids_are_members = true;
  options.target = group->title;
  if (!arguments.quiet)
    say("fathom: {}: {} process{}; those that come later are recorded too{}\n", group->title,
        options.pids.size(), options.pids.size() == 1 ? "" : "es",
        arguments.heap.empty() ? "" : ", without their heaps");
  arguments.pids = options.pids;
  arguments.group = std::move(*group);
  return {};
}

// The processes to attach to, and what to call them.
Result<> choose_target(RecordArguments& arguments) {
  session::RecordOptions& options = arguments.options;
  const GroupArguments& groups = arguments.groups;
  const int ways =
      !arguments.pids.empty() + !arguments.name.empty() + !options.command.empty() + groups.given();
  if (ways != 1) {
    return fail(ErrorKind::kUsage, ways == 0 ? "no target" : "more than one kind of target",
                "fathom record -p PID, -n NAME, --unit NAME, --container NAME, or -- COMMAND ARGUMENTS");
  }
  if (!options.command.empty()) {
    options.target = options.redact ? options.command.front() : process::command_line(options.command);
    return {};
  }
  if (groups.given() != 0) return choose_group(arguments);
  if (!arguments.name.empty()) {
    const Result<std::int32_t> found = the_one_named(arguments.name, "fathom record");
    if (!found) return tl::unexpected(found.error());
    arguments.pids = {*found};
  }
  for (const std::int32_t pid : arguments.pids) {
    auto process = process::read_process(pid);
    if (!process)
      return fail(ErrorKind::kNotFound, fmt::format("process {}: there is none", pid),
                  "ps -e lists them; -n NAME finds one by name");
    if (pid == ::getpid())
      return fail(ErrorKind::kUsage, "fathom does not record itself", "name another process");
    options.target += fmt::format("{}{} (pid {})", options.target.empty() ? "" : ", ", process->name, pid);
  }
  options.pids = arguments.pids;
  return {};
}

// A flight recording is bounded, and looks at memory.
Result<> fits_flight(const RecordArguments& arguments) {
  if (arguments.each_bytes > 0 && !arguments.flight)
    return fail(ErrorKind::kUsage, "--each marks growth in a flight recording",
                "fathom record --heap --flight --each 1g");
  if ((arguments.flight_freeze || arguments.flight_brake) && !arguments.flight)
    return fail(ErrorKind::kUsage, "what a trigger may do belongs to a flight recording",
                "fathom record --heap --flight --flight-freeze");
  if (!arguments.flight) return {};
  if (arguments.no_memory)
    return fail(ErrorKind::kUsage, "--flight looks at memory, which --no-memory leaves out",
                "fathom record --heap --flight");
  if (arguments.options.heap_each_block || arguments.leaks)
    return fail(ErrorKind::kUsage, "--flight keeps a bounded file, and the lives of all blocks have no bound",
                "without --events and --leaks");
  return {};
}

// Functions whose calls are counted.
Result<> choose_probes(RecordArguments& arguments) {
  session::RecordOptions& options = arguments.options;
  for (const std::string& text : arguments.probes) {
    auto wish = probes::parse_wish(text);
    if (!wish) return tl::unexpected<Error>(wish.error());
    options.probes.push_back(std::move(*wish));
  }
  if (options.probes.empty()) {
    if (arguments.probe_limit_given)
      return fail(ErrorKind::kUsage, "--probe-limit is about the functions of --probe",
                  "fathom record --probe FUNCTION --probe-limit 1000 -p PID");
    return {};
  }
  if (options.engine == session::Engine::kPerf || options.engine == session::Engine::kProc)
    return fail(ErrorKind::kUsage, "functions are probed by the engine bpf alone",
                "fathom record --probe FUNCTION, without --engine, as root");
  if (arguments.flight)
    return fail(ErrorKind::kUsage, "--flight keeps no calls of functions", "--probe without --flight");
  if (arguments.groups.machine)
    return fail(ErrorKind::kUsage,
                "functions are probed in programs that were asked for, and not in all that run",
                "fathom record --probe FUNCTION -p PID");
  return {};
}

// What is looked at before and while it records.
Result<> fits_watching(RecordArguments& arguments) {
  const session::RecordOptions& options = arguments.options;
  if (arguments.stable_points > 0) {
    if (!options.cpu || arguments.flight)
      return fail(ErrorKind::kUsage,
                  "--until-stable looks at the shares of CPU time, all of which are recorded",
                  "fathom record --until-stable -p PID, without --flight");
    if (arguments.duration_s <= 0) arguments.options.duration_s = kMostUntilStable_s;
  }
  if (!arguments.work.empty() && arguments.baseline_s <= 0)
    return fail(ErrorKind::kUsage, "--work names what is counted before and while it records",
                "fathom record --baseline 10 --metrics URL --work requests_total -p PID");
  if (!arguments.work.empty() && arguments.metrics.url.empty())
    return fail(ErrorKind::kUsage,
                "--work is a counter of the target's own metrics, whose address is not known",
                "fathom record --baseline 10 --metrics URL --work requests_total -p PID");
  if (arguments.baseline_s > 0 && !options.command.empty())
    return fail(ErrorKind::kUsage, "--baseline looks at a process that does its work already",
                "fathom record --baseline 10 -p PID");
  return {};
}

}  // namespace

Result<> settle(RecordArguments& arguments) {
  session::RecordOptions& options = arguments.options;
  if (arguments.leaks && arguments.heap.empty()) arguments.heap = "exact";
  // A leak check shall not be wrong because the machine is busy.
  options.heap_lossless = (arguments.lossless || arguments.leaks) && arguments.heap == "exact";
  if (arguments.lossless && arguments.heap != "exact")
    return fail(ErrorKind::kUsage, "--lossless is about the calls that --heap=exact records",
                "fathom record --heap=exact --lossless");
  if (options.heap_children && arguments.heap.empty())
    return fail(ErrorKind::kUsage, "--heap-children is about the heap, which is not recorded",
                "fathom record --heap --heap-children");
  if (!arguments.suppressions.empty() && !arguments.leaks)
    return fail(ErrorKind::kUsage, "--suppressions are those of --leaks", "fathom record --leaks -- COMMAND");
  if (auto followed = follow_habits(arguments); !followed) return tl::unexpected<Error>(followed.error());
  if (auto chosen = choose_target(arguments); !chosen) return tl::unexpected<Error>(chosen.error());
  if (options.debuginfod_urls.empty())
    if (const char* urls = std::getenv("DEBUGINFOD_URLS"); urls != nullptr) options.debuginfod_urls = urls;
  if (options.debuginfod_urls == "none") options.debuginfod_urls.clear();
  if (arguments.duration_s > 0) options.duration_s = arguments.duration_s;
  if (arguments.engine == "bpf") options.engine = session::Engine::kBpf;
  if (arguments.engine == "perf") options.engine = session::Engine::kPerf;
  if (arguments.engine == "proc") options.engine = session::Engine::kProc;
  // Naming sources records those; naming none records all that are cheap.
  const bool some = arguments.cpu || arguments.off_cpu || arguments.memory || arguments.flight;
  options.cpu = !some || arguments.cpu;
  options.off_cpu = (!some || arguments.off_cpu) && !arguments.no_off_cpu;
  options.memory = (!some || arguments.memory || arguments.flight) && !arguments.no_memory;
  if (auto fits = fits_flight(arguments); !fits) return tl::unexpected<Error>(fits.error());
  options.follow_children = !arguments.no_children;
  options.heap_mappings = arguments.mappings || (arguments.heap == "exact" && !arguments.no_mappings);
  if (!arguments.heap.empty())
    options.heap = arguments.heap == "exact" ? session::Heap::kExact : session::Heap::kSampled;
  if (options.heap_each_block && options.heap == session::Heap::kNone)
    return fail(ErrorKind::kUsage, "--events keeps the blocks of the heap, which is not recorded",
                "fathom record --heap=exact --events");
  if (options.until_live_bytes && options.heap == session::Heap::kNone)
    return fail(ErrorKind::kUsage, "--until-live looks at the heap, which is not recorded",
                "fathom record --heap --until-live SIZE, or --until-rss SIZE");
  options.memory = options.memory || options.until_resident_bytes.has_value();
  if (!arguments.metrics.url.empty()) {
    auto url = metrics_url(arguments.metrics);
    if (!url) return tl::unexpected<Error>(url.error());
    options.metrics_url = url->text;
    options.memory = true;  // their growth is set beside that of the memory
  }
  if (auto chosen = choose_probes(arguments); !chosen) return tl::unexpected<Error>(chosen.error());
  return fits_watching(arguments);
}

void add_record_options(CLI::App& app, RecordArguments& arguments) {
  session::RecordOptions& options = arguments.options;
  app.add_option("-p,--pid", arguments.pids, "attach to this process (several: -p 12,34)")->delimiter(',');
  app.add_option("-n,--name", arguments.name, "attach to the process of exactly this name");
  add_group_options(app, arguments.groups);
  app.add_option("-F,-r,--freq,--frequency,--rate", options.frequency_hz, "samples per second and CPU")
      ->capture_default_str()
      ->check(CLI::Range(1, 100000));
  app.add_option("-d,--duration", arguments.duration_s,
                 "stop after so many seconds (500ms, 10m and 1h are taken, too)")
      ->transform(seconds_word())
      ->check(CLI::PositiveNumber);
  app.add_option_function<std::uint64_t>(
         "--until-live", [&options](std::uint64_t bytes) { options.until_live_bytes = bytes; },
         "with --heap: stop when so many bytes are live (500m, 4g)")
      ->type_name("SIZE")
      ->transform(CLI::AsSizeValue(false));
  app.add_option_function<std::uint64_t>(
         "--until-rss", [&options](std::uint64_t bytes) { options.until_resident_bytes = bytes; },
         "stop when so many bytes are resident: a recording of what comes before the limit")
      ->type_name("SIZE")
      ->transform(CLI::AsSizeValue(false));
  app.add_flag("--until-stable{1}", arguments.stable_points,
               "stop when, with 95 % certainty, the shares of the ten functions that take most CPU time are "
               "known to ±1 point (=0.5: to half a point), at the latest after -d SECONDS (300)")
      ->check(CLI::Range(0.05, 20.0));
  app.add_option(
         "--baseline", arguments.baseline_s,
         "look for so many seconds, before it records, at how fast the target works (--work; without it at "
         "its calls that read and write), and say whether recording slowed it")
      ->type_name("SECONDS")
      ->transform(seconds_word())
      ->check(CLI::Range(5.0, 3600.0));
  app.add_option("--work", arguments.work,
                 "with --baseline and --metrics: the counter that says how much work was done")
      ->type_name("NAME");
  app.add_flag(
      "--flight", arguments.flight,
      "for a process that runs for weeks: memory (with --heap the heap, too) is kept in rings, and the file, "
      "which does not grow for ever, is written when memory grows towards its limit, now and then, and at "
      "the end; "
      "CPU and waiting only where --cpu or --off-cpu say so, of the last minute");
  app.add_option_function<std::uint64_t>(
         "--each", [&each = arguments.each_bytes](std::uint64_t bytes) { each = bytes; },
         "with --flight: a mark and a close look each time that resident memory has grown by so much (1g)")
      ->type_name("SIZE")
      ->transform(CLI::AsSizeValue(false));
  app.add_flag("--flight-freeze", arguments.flight_freeze,
               "with --flight: a trigger may freeze the program's own control group while it is looked at, "
               "50 ms at most");
  app.add_flag("--flight-brake", arguments.flight_brake,
               "with --flight: a trigger may brake it (memory.high, version 2) for as long, 200 ms at most");
  app.add_option("-D,--delay", options.delay_s, "start after so many seconds")
      ->transform(seconds_word())
      ->check(CLI::NonNegativeNumber);
  app.add_option("-o,--output", options.output,
                 "file to write (default: fathom-profiles/TARGET/TIME.fathom); replaces an earlier recording")
      ->type_name("FILE");
  app.add_flag("--force", options.force, "-o replaces any regular file, also in a folder of somebody else");
  app.add_option("-e,--event", options.event, "what drives sampling")
      ->capture_default_str()
      ->check(CLI::IsMember({"cpu-clock", "cycles"}));
  app.add_option("--engine", arguments.engine, "how stacks are taken")
      ->capture_default_str()
      ->check(CLI::IsMember({"auto", "bpf", "perf", "proc"}));
  app.add_option("--stack-copy", options.stack_copy_bytes,
                 "engine perf: bytes of stack copied for each sample")
      ->capture_default_str()
      ->check(CLI::Range(1024, 65528));
  app.add_option("--symbols", options.symbol_directory,
                 "folder with unstripped twins of stripped binaries, or one of them")
      ->check(CLI::ExistingPath);
  app.add_option("--debuginfod", options.debuginfod_urls,
                 "fetch debug files of stripped modules from these servers (default: those in "
                 "DEBUGINFOD_URLS, else none); "
                 "\"none\": from nowhere")
      ->type_name("URL")
      ->check([](const std::string& text) {
        return text == "none" || text.find("://") != std::string::npos
                   ? std::string()
                   : text + " is not the address of a server: https://HOST or http://HOST:PORT";
      });
  app.add_flag("--cpu", arguments.cpu, "record where CPU time goes");
  app.add_flag("--off-cpu", arguments.off_cpu, "record where threads wait, for what and for whom");
  app.add_flag("--memory", arguments.memory,
               "record the memory series; without any of these three, all are recorded");
  app.add_flag("--heap{sampled}", arguments.heap,
               "trace the heap, too: --heap samples it, --heap=exact takes every call")
      ->check(CLI::IsMember({"sampled", "exact"}));
  app.add_flag("--mappings", arguments.mappings,
               "with --heap: also what the program maps without an allocator; costs servers that make many "
               "system calls 5 % (--heap=exact has it by itself)");
  app.add_flag("--no-mappings", arguments.no_mappings, "leave that out of --heap=exact");
  app.add_option("--heap-interval", options.heap_interval_bytes, "mean bytes between samples of the heap")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 30));
  app.add_flag("--heap-fixed-interval", options.heap_interval_fixed,
               "never sample less often than that: usually the interval doubles while more than 2,000 "
               "samples a second "
               "come, which the report then says");
  app.add_flag(
      "--events", options.heap_each_block,
      "with --heap: keep the life of every block, too, for --size, --lifetime, --address ... when reading");
  app.add_flag(
      "--lossless", arguments.lossless,
      "with --heap=exact: no event is lost while threads of the program may wait for fathom, 5 s at a "
      "time and 60 s in all (--leaks has it by itself)");
  app.add_flag(
      "--no-probe", options.heap_no_probe,
      "with --heap: do not start a private copy of a stripped program to try what the functions of its "
      "allocator do; an allocator without names is then traced only if its code and what is seen of it at "
      "work say enough");
  app.add_flag("--heap-children", options.heap_children,
               "with --heap: also programs that forked processes execute");
  app.add_flag(
      "--dry-run", arguments.dry_run,
      "say what recording would cost, with --heap and -p also what would be changed in the process, and "
      "record and start nothing");
  app.add_option(
         "--probe", arguments.probes,
         "count and time the calls of a function, with their callers: FUNCTION, FUNCTION@MODULE; with "
         ":argN an argument of it, with :argN+OFFSET the 8 bytes that one points to, with :ret what it "
         "returns is added up as its size. Or a static probe (USDT): PROVIDER:NAME, with :argN. Several "
         "times for several functions; fathom report --calls")
      ->type_name("FUNCTION")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option_function<std::uint32_t>(
         "--probe-limit",
         [&arguments](std::uint32_t limit) {
           arguments.options.probe_limit = limit;
           arguments.probe_limit_given = true;
         },
         "with --probe: time no more calls in a second; what comes beyond is counted (20,000)")
      ->type_name("N")
      ->check(CLI::Range(10, 10'000'000));
  app.add_flag("--no-off-cpu", arguments.no_off_cpu, "leave waiting out");
  add_metrics_options(app, arguments.metrics);
  app.add_option(
         "--marks", arguments.marks,
         "lines that are written there while it records are marks: fathom diff FILE --base MARK --new MARK")
      ->type_name("FILE");
  app.add_flag("--no-memory", arguments.no_memory, "leave the memory series out");
  app.add_flag("--no-children", arguments.no_children, "leave out processes that the target forks");
  app.add_flag(
      "--redact", options.redact,
      "keep all arguments of the command out of the file; without it only what looks like a secret is");
  app.add_flag("--flamegraph", arguments.flamegraph,
               "draw the flame graph beside the recording when it ends");
  app.add_flag("--leaks", arguments.leaks,
               "say at the end what was never freed, and exit with 5 if anything was; takes --heap=exact by "
               "itself");
  app.add_option("--suppressions", arguments.suppressions, "with --leaks: as of fathom leaks")
      ->type_name("FILE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--repeat", arguments.repeat,
                 "run the command so many times, each recorded into a file of its own: what fathom diff "
                 "needs to tell a "
                 "change from chance")
      ->type_name("N")
      ->check(CLI::Range(1, 1000));
  app.add_option("--against", arguments.against,
                 "in turn with this command, in one word as for a shell, which is the base of the comparison")
      ->type_name("COMMAND");
  app.add_flag("-q,--quiet", arguments.quiet, "print errors only");
  constexpr const char* kHabits = "As perf and samply have it";
  app.add_flag("-g", arguments.habits.stacks, "nothing: stacks are always recorded")->group(kHabits);
  app.add_option("--call-graph", arguments.habits.call_graph,
                 "nothing: stacks are walked by the unwind tables of the program, without frame pointers and "
                 "without copies")
      ->type_name("HOW")
      ->group(kHabits);
  app.add_option("-t,--tid", arguments.habits.tids,
                 "the process of this thread; report --thread shows the thread alone")
      ->delimiter(',')
      ->group(kHabits);
  app.add_flag(
         "-a,--all-cpus", arguments.habits.whole_machine,
         "all programs that run on this machine, also those that come later; the kernel's own threads are "
         "left out")
      ->group(kHabits);
  app.add_option("command", options.command, "-- COMMAND ARGUMENTS: launch and record this")->type_name("");
  app.positionals_at_end();
  app.footer(
      "A recording stops when the target ends, after -d SECONDS, when --until-live or --until-rss is "
      "reached,\n"
      "or with Ctrl-C. A launched command gets Ctrl-C, too, and is recorded until it ends; a second Ctrl-C "
      "ends "
      "the\n"
      "recording at once, and leaves the command. After a limit the command is sent SIGTERM once the file is "
      "complete,\n"
      "and waited for at most 10 s; with --leaks it is recorded meanwhile. Attaching stops nothing and "
      "changes "
      "nothing;\n"
      "with --heap the hooks of the heap tracer are put into the process and taken out\n"
      "again (--dry-run says which). If they cannot be taken out (a debugger, a frozen group), the exit "
      "status\n"
      "is 6, and a guardian keeps trying.");
}

void add_triage_options(CLI::App& app, RecordArguments& arguments) {
  session::RecordOptions& options = arguments.options;
  app.add_option("-p,--pid", arguments.pids, "look at this process (several: -p 12,34)")->delimiter(',');
  app.add_option("-n,--name", arguments.name, "look at the process of exactly this name");
  add_group_options(app, arguments.groups);
  app.add_option("-d,--duration", arguments.duration_s,
                 "for so many seconds (default: 30; a command that is launched until it ends)")
      ->transform(seconds_word())
      ->check(CLI::PositiveNumber);
  app.add_flag("--heap{sampled}", arguments.heap, "look at the heap, too: --heap samples it")
      ->check(CLI::IsMember({"sampled", "exact"}));
  app.add_option("-o,--output", options.output,
                 "the recording (default: fathom-profiles/TARGET/TIME.fathom); replaces an earlier one")
      ->type_name("FILE");
  app.add_option("command", options.command, "-- COMMAND ARGUMENTS: launch and look at this")->type_name("");
  app.positionals_at_end();
  app.footer(
      "CPU, waiting and memory are recorded together. What is printed is the answer in one screen: the kind "
      "of\n"
      "problem, where it is, how sure that is, and the next command. fathom help words explains the words.");
}

}  // namespace fathom::cli
