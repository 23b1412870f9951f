// fathom limit: runs a command under a memory limit and says how it ended.
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>

#include "analysis/core/words.h"
#include "attach/inject/tracer/detach_guardian.h"
#include "base/clock.h"
#include "base/files.h"
#include "cli/command.h"
#include "cli/notices.h"
#include "cli/number_word.h"
#include "cli/option_groups.h"
#include "cli/output.h"
#include "cli/seconds_word.h"
#include "cli/stop_requests.h"
#include "linux/process/command_line.h"
#include "model/store/default_path.h"
#include "tools/limit/bisection.h"
#include "tools/limit/dead_groups.h"
#include "tools/limit/holders.h"
#include "tools/limit/limited_run.h"

namespace fathom::cli {
namespace {

constexpr std::uint64_t kLargest = std::uint64_t{1} << 50;
constexpr std::uint64_t kSmallest = std::uint64_t{256} << 10;  // a process needs some memory to begin

struct LimitArguments {
  std::vector<std::string> command;
  std::uint64_t memory = 0;
  std::uint64_t swap = 0;
  std::optional<int> swappiness;
  std::string heap, recording, json;
  std::optional<double> hold_s;
  std::optional<std::uint64_t> hold_more;
  bool hold = false, bisect = false, quiet = false, force = false, in_scope = false;
  std::uint64_t resolution = 0;
  int repeats = 3;
  std::string until;
};

std::string size(std::uint64_t value) {
  return analysis::bytes(static_cast<double>(value));
}

Result<> check(const LimitArguments& arguments) {
  if (arguments.command.empty())
    return fail(ErrorKind::kUsage, "no command", "fathom limit --memory 1g -- COMMAND ARGUMENTS");
  if (arguments.memory < kSmallest || arguments.memory > kLargest || arguments.swap > kLargest)
    return fail(
        ErrorKind::kUsage,
        fmt::format("--memory {}: between {} and {}", arguments.memory, size(kSmallest), size(kLargest)),
        "--memory 512m, --memory 8g");
  if (arguments.bisect && (!arguments.heap.empty() || arguments.hold))
    return fail(ErrorKind::kUsage, "--bisect runs the command many times: without --heap and --hold",
                "fathom limit --heap with the limit that it finds");
  if (!arguments.recording.empty() && arguments.heap.empty())
    return fail(ErrorKind::kUsage, "-o is the recording of --heap", "fathom limit --heap -o FILE");
  if (arguments.hold_more && *arguments.hold_more <= arguments.memory)
    return fail(ErrorKind::kUsage, "--then-memory is the limit to continue with, so it must exceed --memory",
                "");
  return {};
}

// Restarts us where systemd lets us have groups of our own; returns only if that fails.
Error start_in_scope(const Error& reason) {
  // /proc/self/cmdline is what we were called with; "--in-scope" has to follow the name of the command.
  const auto text = read_file("/proc/self/cmdline");
  std::vector<std::string> arguments;
  for (std::size_t start = 0; text && start < text->size();) {
    const std::size_t end = std::min(text->find('\0', start), text->size());
    arguments.push_back(text->substr(start, end - start));
    start = end + 1;
  }
  const auto command = std::ranges::find(arguments, "limit");
  if (command == arguments.end()) return reason;
  arguments.insert(command + 1, "--in-scope");
  const auto self = ::realpath("/proc/self/exe", nullptr);
  if (self != nullptr) arguments.front() = self;
  std::free(self);
  const std::vector<std::string> line = limit::in_delegated_scope(arguments, ::geteuid() != 0);
  std::vector<char*> argv;
  for (const std::string& argument : line) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  ::execvp(argv.front(), argv.data());
  return reason;
}

Result<limit::Place> choose_place(const LimitArguments& arguments) {
  bool needs_scope = false;
  auto place = limit::find_place(limit::look_around(arguments.in_scope), needs_scope);
  if (!place && needs_scope) return tl::unexpected<Error>(start_in_scope(place.error()));
  return place;
}

limit::RunOptions options_for(const LimitArguments& arguments, std::uint64_t memory, int number,
                              StopRequests& stops) {
  limit::RunOptions options;
  options.command = arguments.command;
  options.limits = {memory, arguments.swap, arguments.swappiness};
  options.group_name = limit::group_name(::getpid(), number);
  options.in_child = [&stops] { stops.undo_in_child(); };
  return options;
}

// What the terminal and others send us meanwhile. A second request ends the command.
void take_requests(limit::LimitedRun& run, StopRequests& stops, int& requests) {
  while (const auto received = stops.take(run.command_pid())) {
    ++requests;
    const bool held = run.at_wall();
    if (held) run.leave_wall();
    run.pass_on(received->request.pass_on);
    run.interrupt(received->request.at_once || requests > 1);
  }
}

Result<limit::Outcome> run_once(limit::RunOptions options, const limit::Place& place,
                                limit::GroupGuardian& guardian, StopRequests& stops, bool& interrupted) {
  limit::LimitedRun run(std::move(options), place, guardian);
  if (auto started = run.start(); !started) return tl::unexpected<Error>(started.error());
  int requests = 0;
  for (run.step(); !run.ended(); run.step()) {
    std::vector<pollfd> ready = run.poll_fds();
    ready.push_back({stops.fd(), POLLIN, 0});
    (void)::poll(ready.data(), ready.size(), run.wait_ms());
    take_requests(run, stops, requests);
  }
  interrupted = requests > 0;
  return run.finish();
}

limit::Hold hold_of(const LimitArguments& arguments) {
  limit::Hold hold;
  hold.seconds = arguments.hold_s.value_or(hold.seconds);
  hold.more = arguments.hold_more;
  hold.at_wall = [&arguments, seconds = hold.seconds](const limit::MemoryGroup& group) {
    say("fathom: the command is stopped at its limit of {}, for at most {} s; Ctrl-C releases it\n",
        size(arguments.memory), seconds);
    notice(limit::describe_at_wall(group, output_width()));
  };
  return hold;
}

session::RecordOptions recording_of(const LimitArguments& arguments, inject::DetachGuardian& guardian) {
  session::RecordOptions options;
  options.target = process::command_line(arguments.command);
  options.output = arguments.recording.empty()
                       ? store::default_path(arguments.command.front(), wall_clock_ns())
                       : arguments.recording;
  options.overwrite = !arguments.recording.empty();
  options.force = arguments.force;
  options.heap = arguments.heap == "exact" ? session::Heap::kExact : session::Heap::kSampled;
  options.name_reader = "/proc/self/exe";
  options.guardian = &guardian;
  return options;
}

Result<> write_json(const LimitArguments& arguments, const std::string& json) {
  if (arguments.json.empty()) return {};
  return write_output(json, OutputPath{arguments.json == "-" ? "" : arguments.json, arguments.force});
}

Result<int> run_single(const LimitArguments& arguments, const limit::Place& place,
                       limit::GroupGuardian& guardian, StopRequests& stops,
                       inject::DetachGuardian* heap_guardian) {
  limit::RunOptions options = options_for(arguments, arguments.memory, 1, stops);
  if (arguments.hold) options.hold = hold_of(arguments);
  if (heap_guardian != nullptr) options.recording = recording_of(arguments, *heap_guardian);
  bool interrupted = false;
  auto outcome = run_once(std::move(options), place, guardian, stops, interrupted);
  if (!outcome) return tl::unexpected<Error>(outcome.error());
  // The report named below says so if a recording cannot be read.
  if (!outcome->recording.empty())
    if (auto holders = limit::read_holders(outcome->recording, open::NameOptions("/proc/self/exe")))
      outcome->holders = std::move(*holders);
  if (!arguments.quiet) notice(limit::to_text(*outcome, output_width()));
  if (auto written = write_json(arguments, limit::to_json(*outcome)); !written)
    return tl::unexpected<Error>(written.error());
  return limit::exit_status(limit::judge(*outcome));
}

// --until CMD: the answer of a shell after the run.
bool holds(const std::string& predicate) {
  const int status = std::system(predicate.c_str());  // NOLINT: the user's own command
  return status == 0;
}

Result<int> run_bisection(const LimitArguments& arguments, const limit::Place& place,
                          limit::GroupGuardian& guardian, StopRequests& stops) {
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const std::uint64_t resolution = arguments.resolution != 0
                                       ? arguments.resolution
                                       : std::max<std::uint64_t>(arguments.memory / 256, 64 * page);
  limit::Bisection search(arguments.memory, resolution, page, arguments.repeats);
  std::string rows;
  for (int number = 1; const auto memory = search.next(); ++number) {
    limit::RunOptions options = options_for(arguments, *memory, number, stops);
    options.discard_output = true;
    bool interrupted = false;
    const auto outcome = run_once(std::move(options), place, guardian, stops, interrupted);
    if (!outcome) return tl::unexpected<Error>(outcome.error());
    if (interrupted) return fail(ErrorKind::kSystem, "interrupted: the search was not finished", "");
    const limit::Verdict verdict = limit::judge(*outcome);
    const bool works =
        verdict == limit::Verdict::kPassed && (arguments.until.empty() || holds(arguments.until));
    if (!arguments.quiet)
      say("fathom: {:>10}  {:<11} {:>8}  peak {:>10}, {} needed again\n", size(*memory),
          works ? "works" : limit::word_of(verdict), analysis::seconds(outcome->seconds),
          size(limit::peak_of(*outcome)), analysis::counted(outcome->state.refaults, "page"));
    rows += fmt::format(
        "{}\n    {{\"memory_bytes\": {}, \"works\": {}, \"verdict\": \"{}\", \"seconds\": {:.6f}, \"peak_bytes\": {}, \"refaults\": {}, \"swapped_bytes\": {}}}",
        rows.empty() ? "" : ",", *memory, works, limit::word_of(verdict), outcome->seconds,
        limit::peak_of(*outcome), outcome->state.refaults, outcome->swapped_bytes);
    search.tried(works, limit::peak_of(*outcome));
  }
  const auto smallest = search.smallest();
  const std::string json = fmt::format(
      "{{\n  \"version\": 1,\n  \"smallest_bytes\": {},\n  \"largest_failure_bytes\": {},\n  \"runs\": [{}\n  ]\n}}\n",
      smallest ? std::to_string(*smallest) : "null",
      search.largest_failure() == 0 ? "null" : std::to_string(search.largest_failure()), rows);
  if (auto written = write_json(arguments, json); !written) return tl::unexpected<Error>(written.error());
  if (!smallest) {
    say("fathom: not even {} is enough\n", size(arguments.memory));
    return limit::exit_status(limit::Verdict::kDied);
  }
  if (!arguments.quiet)
    say("fathom: the smallest limit that works is {} ({} bytes){}{}\n", size(*smallest), *smallest,
        search.largest_failure() == 0 ? "" : fmt::format(", {} does not", size(search.largest_failure())),
        arguments.repeats == 0
            ? ""
            : fmt::format("; it worked {} more",
                          analysis::counted(static_cast<std::uint64_t>(arguments.repeats), "time")));
  return kDone;
}

Result<int> run_limit(LimitArguments& arguments) {
  if (auto checked = check(arguments); !checked) return tl::unexpected<Error>(checked.error());
  if (arguments.hold_s) arguments.hold = true;
  const auto place = choose_place(arguments);
  if (!place) return tl::unexpected<Error>(place.error());
  (void)limit::remove_dead_groups(place->parent);
  if (arguments.swap > 0 && !arguments.quiet && !limit::machine_has_swap())
    say("fathom: this machine has no swap, so --swap {} changes nothing\n", size(arguments.swap));
  StopRequests stops(true);
  auto guardian = limit::GroupGuardian::start();
  if (!guardian) return tl::unexpected<Error>(guardian.error());
  if (arguments.bisect) return run_bisection(arguments, *place, *guardian, stops);
  std::optional<inject::DetachGuardian> heap_guardian;
  if (!arguments.heap.empty()) {
    auto started = inject::DetachGuardian::start();
    if (!started) return tl::unexpected<Error>(started.error());
    heap_guardian.emplace(std::move(*started));
  }
  return run_single(arguments, *place, *guardian, stops, heap_guardian ? &*heap_guardian : nullptr);
}

}  // namespace

Run add_limit(CLI::App& app) {
  auto arguments = std::make_shared<LimitArguments>();
  begin_group(app, "Limit");
  app.add_option("-m,--memory", arguments->memory, "limit (512m, 8g); with --bisect the largest one to try")
      ->type_name("SIZE")
      ->required()
      ->transform(size_word(SizeZero::kRefused));
  app.add_option("--swap", arguments->swap, "swap that the command may use in addition")
      ->type_name("SIZE")
      ->capture_default_str()
      ->transform(size_word());
  app.add_option("--swappiness", arguments->swappiness,
                 "swappiness of the group, 0 to 200 (cgroup version 1)")
      ->type_name("N")
      ->check(CLI::Range(0, 200));
  begin_group(app, kOutputGroup);
  app.add_flag("--heap{sampled}", arguments->heap, "also record the heap, to see what held the memory")
      ->check(CLI::IsMember({"sampled", "exact"}));
  app.add_option("-o,--output", arguments->recording,
                 "recording of --heap (default: fathom-profiles/TARGET/TIME.fathom)")
      ->type_name("FILE");
  begin_group(app, "Experiments");
  app.add_option(
         "--hold", arguments->hold_s,
         "stop at the limit for up to this long and print what the memory is; then the kernel kills it. For tests: system calls that need memory fail in the meantime")
      ->type_name("SECONDS")
      ->transform(seconds_word())
      ->check(CLI::Range(0.01, 86400.0));
  app.add_option_function<std::uint64_t>(
         "--then-memory",
         [arguments = arguments.get()](std::uint64_t bytes) { arguments->hold_more = bytes; },
         "after --hold: continue with this limit")
      ->type_name("SIZE")
      ->transform(size_word(SizeZero::kRefused));
  auto* bisect =
      app.add_flag("--bisect", arguments->bisect, "find the smallest limit with which the command succeeds");
  app.add_option("--until", arguments->until, "with --bisect: this shell command must also succeed")
      ->type_name("COMMAND")
      ->needs(bisect);
  app.add_option("--resolution", arguments->resolution,
                 "with --bisect: precision (default: 1/256 of --memory)")
      ->type_name("SIZE")
      ->needs(bisect)
      ->transform(size_word(SizeZero::kRefused));
  app.add_option("--repeat", arguments->repeats, "with --bisect: how often to confirm the limit")
      ->type_name("N")
      ->capture_default_str()
      ->needs(bisect)
      ->check(CLI::Range(0, 1000));
  begin_group(app, kOutputGroup);
  app.add_option("--json", arguments->json, "write the result as JSON; - for standard output")
      ->type_name("FILE");
  app.add_flag("-f,--force", arguments->force, "-o and --json may replace any regular file");
  app.add_flag("-q,--quiet", arguments->quiet, "print errors only");
  // People who limit containers look for it here.
  app.add_option_function<std::string>(
         "--container",
         [](const std::string&) {
           throw CLI::ValidationError(
               "--container",
               "limit runs a command of its own; the engine sets the limit of a container: docker run --memory SIZE. fathom watch --container NAME shows what is left of it");
         },
         "")
      ->type_name("NAME")
      ->group(kHidden);
  app.add_flag("--in-scope", arguments->in_scope, "")->group("");
  app.add_option("command", arguments->command, "-- COMMAND ARGUMENTS: run this")->type_name("");
  app.positionals_at_end();
  app.footer(
      "The command runs in its own memory control group. fathom removes the group and everything left in it at the end, also if fathom is killed, and reads the limits back before it starts the command. With --bisect, the command must succeed without swap, and its output is not shown. Exit status: 0 passed; 5 killed by the kernel for lack of memory (with --bisect: no limit works); 6 passed, but only with swap; 7 the command failed, or something else killed it; 1 interrupted, or fathom failed.");
  return [arguments] { return run_limit(*arguments); };
}

}  // namespace fathom::cli
