#include "cli/record_arguments.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "cli/named_target.h"
#include "cli/notices.h"
#include "cli/source_list.h"
#include "cli/until_stable.h"
#include "linux/process/command_line.h"
#include "linux/process/descendants.h"
#include "linux/process/find.h"
#include "linux/process/status.h"

namespace fathom::cli {
namespace {

// Without --sources, naming sources records those, and naming none records all that are cheap; the heap comes on top.
Sources sources_by_single_options(const RecordArguments& arguments) {
  const bool some = arguments.cpu || arguments.off_cpu || arguments.memory || arguments.flight;
  return {.cpu = !some || arguments.cpu,
          .wait = (!some || arguments.off_cpu) && !arguments.no_off_cpu,
          .memory = (!some || arguments.memory || arguments.flight) && !arguments.no_memory,
          .heap = arguments.leaks && arguments.heap.empty() ? "exact" : arguments.heap};
}

// A list is complete: an option that needs more, or less, is refused.
Result<Sources> sources_by_list(const RecordArguments& arguments) {
  auto listed = parse_sources(arguments.sources);
  if (!listed) return listed;
  using Kind = SourceDemand::Kind;
  std::vector<SourceDemand> demands;
  const auto demand = [&](bool given, const char* option, Kind kind, Sources what) {
    if (given) demands.push_back({option, kind, std::move(what)});
  };
  demand(arguments.cpu, "--cpu", Kind::kNeeds, {.cpu = true});
  demand(arguments.off_cpu, "--off-cpu", Kind::kNeeds, {.wait = true});
  demand(arguments.memory, "--memory", Kind::kNeeds, {.memory = true});
  demand(arguments.no_off_cpu, "--no-off-cpu", Kind::kForbids, {.wait = true});
  demand(arguments.no_memory, "--no-memory", Kind::kForbids, {.memory = true});
  demand(!arguments.heap.empty(), arguments.heap == "exact" ? "--heap=exact" : "--heap", Kind::kNeeds,
         {.heap = arguments.heap});
  demand(arguments.leaks, "--leaks", Kind::kNeeds, {.heap = "exact"});
  demand(arguments.flight, "--flight", Kind::kNeeds, {.memory = true});
  demand(arguments.options.until_resident_bytes.has_value(), "--until-rss", Kind::kNeeds, {.memory = true});
  demand(!arguments.metrics.url.empty(), "--scrape", Kind::kNeeds, {.memory = true});
  if (auto fitting = fits(*listed, demands); !fitting) return tl::unexpected<Error>(fitting.error());
  return listed;
}

Result<> choose_sources(RecordArguments& arguments) {
  const auto sources = arguments.sources.empty() ? Result<Sources>(sources_by_single_options(arguments))
                                                 : sources_by_list(arguments);
  if (!sources) return tl::unexpected<Error>(sources.error());
  session::RecordOptions& options = arguments.options;
  options.cpu = sources->cpu;
  options.off_cpu = sources->wait;
  options.memory = sources->memory;
  arguments.heap = sources->heap;
  if (!sources->heap.empty())
    options.heap = sources->heap == "exact" ? session::Heap::kExact : session::Heap::kSampled;
  return {};
}

// Stacks are always recorded and walked in one way, and whole processes are.
Result<> follow_habits(RecordArguments& arguments) {
  const Habits& habits = arguments.habits;
  arguments.groups.machine = habits.whole_machine;
  if (habits.whole_machine && !arguments.heap.empty())
    return fail(ErrorKind::kUsage, "--heap needs a target; it does not work with -a",
                "fathom record --heap -p PID");
  for (const std::int32_t tid : habits.tids) {
    const auto status = process::read_status(tid);
    if (!status)
      return fail(ErrorKind::kNotFound, fmt::format("thread {}: there is none", tid), "ps -eLf lists them");
    arguments.pids.push_back(status->pid);
    if (!arguments.quiet)
      say("fathom: thread {} belongs to process {}, which is recorded as a whole; fathom report --thread {} shows only that thread\n",
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

// Servers whose master only waits: the work is done by processes that live already.
void count_children(RecordArguments& arguments) {
  session::RecordOptions& options = arguments.options;
  const std::size_t count = process::living_children(options.pids).size();
  if (count == 0) return;
  const std::string children = count == 1 ? "1 child process" : fmt::format("{} child processes", count);
  if (!arguments.no_children) options.target += " and " + children;
  if (arguments.quiet) return;
  if (arguments.no_children)
    say("fathom: {} of the target {} left out (--no-children)\n", children, count == 1 ? "is" : "are");
  else
    say("fathom: {} of the target {} recorded too (--no-children leaves {} out){}\n", children,
        count == 1 ? "is" : "are", count == 1 ? "it" : "them",
        arguments.heap.empty() ? "" : ", without their heaps");
}

// The processes to attach to, and what to call them.
Result<> choose_target(RecordArguments& arguments) {
  session::RecordOptions& options = arguments.options;
  const std::string& command = arguments.typed;
  const GroupArguments& groups = arguments.groups;
  const int ways =
      !arguments.pids.empty() + !arguments.name.empty() + !options.command.empty() + groups.given();
  if (ways != 1) {
    return fail(ErrorKind::kUsage, ways == 0 ? "no target" : "more than one kind of target",
                command + " -p PID, -n NAME, --unit NAME, --container NAME, or -- COMMAND ARGUMENTS");
  }
  if (!options.command.empty()) {
    options.target = options.redact ? options.command.front() : process::command_line(options.command);
    return {};
  }
  if (groups.given() != 0) return choose_group(arguments);
  if (!arguments.name.empty()) {
    const Result<std::int32_t> found = the_one_named(arguments.name, command);
    if (!found) return tl::unexpected(found.error());
    arguments.pids = {*found};
  }
  for (const std::int32_t pid : arguments.pids) {
    if (auto whole = is_process(pid, command); !whole) return whole;
    auto process = process::read_process(pid);
    if (!process)
      return fail(ErrorKind::kNotFound, fmt::format("process {}: there is none", pid),
                  "ps -e lists them; -n NAME finds one by name");
    if (pid == ::getpid())
      return fail(ErrorKind::kUsage, "fathom does not record itself", "name another process");
    options.target += fmt::format("{}{} (pid {})", options.target.empty() ? "" : ", ", process->name, pid);
  }
  options.pids = arguments.pids;
  count_children(arguments);
  return {};
}

// A flight recording is bounded, and looks at memory.
Result<> fits_flight(const RecordArguments& arguments) {
  if (arguments.each_bytes > 0 && !arguments.flight)
    return fail(ErrorKind::kUsage, "--each requires --flight", "fathom record --heap --flight --each 1g");
  if ((arguments.flight_freeze || arguments.flight_brake) && !arguments.flight)
    return fail(ErrorKind::kUsage, "--flight-freeze and --flight-brake require --flight",
                "fathom record --heap --flight --flight-freeze");
  if (!arguments.flight) return {};
  if (arguments.no_memory)
    return fail(ErrorKind::kUsage, "--flight needs memory, which --no-memory leaves out",
                "fathom record --heap --flight");
  if (arguments.options.heap_each_block || arguments.leaks)
    return fail(ErrorKind::kUsage,
                "--flight bounds its file, so it cannot store the life of each block (--each-block, --leaks)",
                "without --each-block and --leaks");
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
  for (const std::string& text : arguments.span_functions) {
    auto wishes = probes::parse_span(text);
    if (!wishes) return tl::unexpected<Error>(wishes.error());
    options.probes.insert(options.probes.end(), wishes->begin(), wishes->end());
  }
  if (options.probes.empty()) {
    if (arguments.probe_limit_given)
      return fail(ErrorKind::kUsage, "--probe-limit requires --probe",
                  "fathom record --probe FUNCTION --probe-limit 1000 -p PID");
    return {};
  }
  if (options.engine == session::Engine::kPerf || options.engine == session::Engine::kProc)
    return fail(ErrorKind::kUsage, "--probe needs the engine bpf",
                "fathom record --probe FUNCTION, without --engine, as root");
  if (arguments.flight)
    return fail(ErrorKind::kUsage, "--flight does not record calls of functions", "--probe without --flight");
  if (arguments.groups.machine)
    return fail(ErrorKind::kUsage, "--probe needs a target; it does not work with -a",
                "fathom record --probe FUNCTION -p PID");
  return {};
}

// The event that drives sampling, and those that are recorded next to it.
Result<> choose_events(RecordArguments& arguments) {
  session::RecordOptions& options = arguments.options;
  if (options.system_calls &&
      (options.engine == session::Engine::kPerf || options.engine == session::Engine::kProc))
    return fail(ErrorKind::kUsage, "--syscalls needs the engine bpf",
                "fathom record --syscalls, without --engine, as root");
  if (options.system_calls && arguments.flight)
    return fail(ErrorKind::kUsage, "--flight does not count system calls", "--syscalls without --flight");
  auto wishes = sources::parse_events(arguments.events);
  if (!wishes) return tl::unexpected<Error>(wishes.error());
  std::vector<sources::EventWish> named;
  for (sources::EventWish& wish : *wishes) {
    if (wish.name == "cpu-cycles") wish.name = "cycles";
    if (wish.name != "cpu-clock" && wish.name != "cycles") {
      named.push_back(std::move(wish));
      continue;
    }
    if (wish.period != 0 || !wish.weight.empty())
      return fail(ErrorKind::kUsage, fmt::format("-e {} takes a rate, not a period", wish.name),
                  fmt::format("-e {} -F 99", wish.name));
    options.event = wish.name;
    if (wish.frequency_hz != 0) options.frequency_hz = wish.frequency_hz;
  }
  if (named.empty()) return {};
  if (options.engine == session::Engine::kPerf || options.engine == session::Engine::kProc)
    return fail(ErrorKind::kUsage, fmt::format("-e {} needs the engine bpf", named.front().name),
                "fathom record -e EVENT, without --engine, as root");
  if (arguments.flight)
    return fail(ErrorKind::kUsage, "--flight does not record events", "-e without --flight");
  auto events = sources::find_events(named, options.frequency_hz);
  if (!events) return tl::unexpected<Error>(events.error());
  options.events = std::move(*events);
  return {};
}

// What is looked at before and while it records.
Result<> fits_watching(RecordArguments& arguments) {
  const session::RecordOptions& options = arguments.options;
  if (arguments.stable_points > 0) {
    if (!options.cpu || arguments.flight)
      return fail(ErrorKind::kUsage, "--until-stable needs CPU time, and does not work with --flight",
                  "fathom record --until-stable -p PID, without --flight");
    if (arguments.duration_s <= 0) arguments.options.duration_s = kMostUntilStable_s;
  }
  if (!arguments.work.empty() && arguments.baseline_s <= 0)
    return fail(ErrorKind::kUsage, "--work requires --baseline",
                "fathom record --baseline 10 --scrape URL --work requests_total -p PID");
  if (!arguments.work.empty() && arguments.metrics.url.empty())
    return fail(ErrorKind::kUsage, "--work requires --scrape, the address of the target's metrics",
                "fathom record --baseline 10 --scrape URL --work requests_total -p PID");
  if (arguments.baseline_s > 0 && !options.command.empty())
    return fail(ErrorKind::kUsage, "--baseline works with a running process only",
                "fathom record --baseline 10 -p PID");
  return {};
}

}  // namespace

Result<> settle(RecordArguments& arguments) {
  session::RecordOptions& options = arguments.options;
  if (arguments.open && arguments.habits.save_only)
    return fail(ErrorKind::kUsage, "--open and --save-only contradict each other", "one of them");
  if (auto chosen = choose_sources(arguments); !chosen) return chosen;
  // A leak check must not be wrong because the machine is busy.
  options.heap_lossless = (arguments.lossless || arguments.leaks) && arguments.heap == "exact";
  if (arguments.lossless && arguments.heap != "exact")
    return fail(ErrorKind::kUsage, "--lossless requires --heap=exact",
                "fathom record --heap=exact --lossless");
  if (options.heap_children && arguments.heap.empty())
    return fail(ErrorKind::kUsage, "--heap-children requires --heap", "fathom record --heap --heap-children");
  if (!arguments.suppressions.empty() && !arguments.leaks)
    return fail(ErrorKind::kUsage, "--suppressions requires --leaks", "fathom record --leaks -- COMMAND");
  if (auto followed = follow_habits(arguments); !followed) return tl::unexpected<Error>(followed.error());
  if (auto chosen = choose_target(arguments); !chosen) return tl::unexpected<Error>(chosen.error());
  if (options.debuginfod_urls.empty())
    if (const char* urls = std::getenv("DEBUGINFOD_URLS"); urls != nullptr) options.debuginfod_urls = urls;
  if (options.debuginfod_urls == "none") options.debuginfod_urls.clear();
  if (arguments.duration_s > 0) options.duration_s = arguments.duration_s;
  if (arguments.engine == "bpf") options.engine = session::Engine::kBpf;
  if (arguments.engine == "perf") options.engine = session::Engine::kPerf;
  if (arguments.engine == "proc") options.engine = session::Engine::kProc;
  if (auto chosen = choose_events(arguments); !chosen) return chosen;
  if (options.event != "cpu-clock" &&
      (options.engine == session::Engine::kPerf || options.engine == session::Engine::kProc))
    return fail(ErrorKind::kUsage,
                fmt::format("-e {} needs the engine bpf; the engine {} samples the clock", options.event,
                            arguments.engine),
                "fathom record without --engine, or without -e");
  if (auto fits = fits_flight(arguments); !fits) return tl::unexpected<Error>(fits.error());
  options.follow_children = !arguments.no_children;
  options.heap_mappings = arguments.mappings || (arguments.heap == "exact" && !arguments.no_mappings);
  if (options.heap_each_block && options.heap == session::Heap::kNone)
    return fail(ErrorKind::kUsage, "--each-block requires --heap", "fathom record --heap=exact --each-block");
  if (options.until_live_bytes && options.heap == session::Heap::kNone)
    return fail(ErrorKind::kUsage, "--until-live requires --heap",
                "fathom record --heap --until-live SIZE, or --until-rss SIZE");
  options.memory = options.memory || options.until_resident_bytes.has_value();
  if (!arguments.metrics.url.empty()) {
    auto url = metrics_url(arguments.metrics);
    if (!url) return tl::unexpected<Error>(url.error());
    options.metrics_url = url->text;
    options.memory = true;  // their growth is compared with that of the memory
  }
  if (auto chosen = choose_probes(arguments); !chosen) return tl::unexpected<Error>(chosen.error());
  return fits_watching(arguments);
}

}  // namespace fathom::cli
