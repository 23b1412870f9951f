// fathom top: what running processes do now, a table each second. It records as `fathom record` does, so that what was seen can be
// kept: the key s keeps the recording, which is removed otherwise.
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "attach/inject/tracer/detach_guardian.h"
#include "base/clock.h"
#include "base/shell_word.h"
#include "cli/command.h"
#include "cli/live_terminal.h"
#include "cli/notices.h"
#include "cli/option_groups.h"
#include "cli/record_arguments.h"
#include "cli/record_option_list.h"
#include "cli/seconds_word.h"
#include "cli/stale_tracers.h"
#include "cli/stop_requests.h"
#include "cli/top_companion.h"
#include "cli/top_screen.h"
#include "linux/process/group.h"
#include "model/store/default_path.h"
#include "record/session/session.h"

namespace fathom::cli {
namespace {

struct TopArguments {
  RecordArguments record;
  std::string metric = "cpu";
  double interval_s = 1;
  std::size_t rows = 10;
};

// Shows tables until the target ends, the user ends it or the time is over.
Result<session::RecordOutcome> show_top(const TopArguments& arguments, session::RecordOptions options,
                                        TopScreen& screen) {
  TopCompanion companion(screen, arguments.interval_s);
  StopRequests stops(false);
  options.companions.push_back(&companion);
  options.free_tables = false;
  session::Session session(std::move(options));
  const auto& group = arguments.record.group;
  if (group) session.follow([&group] { return process::members_of(*group); });
  if (auto started = session.start(); !started) return tl::unexpected<Error>(started.error());
  const LiveTerminal terminal;
  for (session.step(); !session.ended(); session.step()) {
    const bool fresh = companion.take_fresh();
    if (fresh && !terminal.active()) {
      const std::string text = screen.plain(arguments.rows);
      if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
        session.request_stop({.pass_on = 0, .at_once = true});  // the reader has gone
    }
    if (terminal.active()) {
      bool changed = fresh;
      for (const char key : terminal.read_keys()) changed = screen.key(key) || changed;
      const auto [width, height] = terminal.size();
      if (changed) terminal.draw(screen.styled(width, height));
    }
    if (screen.wants_end()) session.request_stop({.pass_on = 0, .at_once = true});
    pollfd ready[] = {{session.poll_fd(), POLLIN, 0},
                      {stops.fd(), POLLIN, 0},
                      {terminal.active() ? STDIN_FILENO : -1, POLLIN, 0}};
    (void)::poll(ready, 3, session.wait_ms());
    while (const auto received = stops.take(session.command_pid())) session.request_stop(received->request);
  }
  return session.outcome();
}

Result<int> run_top(TopArguments& arguments) {
  RecordArguments& record = arguments.record;
  session::RecordOptions& options = record.options;
  record.quiet = true;
  if (auto settled = settle(record); !settled) return tl::unexpected<Error>(settled.error());
  const bool keep = !options.output.empty();
  options.overwrite = keep;
  if (!keep) options.output = store::default_path(options.target, wall_clock_ns());
  options.name_reader = "/proc/self/exe";  // main() knows what it is then
  options.give_up_privileges = true;
  if (arguments.metric == "allocations" && options.heap == session::Heap::kNone)
    return fail(ErrorKind::kUsage, "--metric allocations needs --heap", "fathom top --heap -p PID");
  repair_stale_tracers(options.pids);
  // Before any thread is started: from then on our death, however it comes, takes the tracer out.
  std::optional<inject::DetachGuardian> guardian;
  if (options.heap != session::Heap::kNone) {
    auto started = inject::DetachGuardian::start();
    if (!started) return tl::unexpected<Error>(started.error());
    options.guardian = &guardian.emplace(std::move(*started));
  }
  TopScreen screen(arguments.metric == "cpu"     ? TopMetric::kCpu
                   : arguments.metric == "waits" ? TopMetric::kWaits
                                                 : TopMetric::kAllocations);
  const auto outcome = show_top(arguments, options, screen);
  if (!outcome) return tl::unexpected<Error>(outcome.error());
  if (keep || screen.wants_save()) {
    say("fathom: saved in {}\nnext: fathom report {}\n", outcome->path, shell_word(outcome->path));
    return kDone;
  }
  std::error_code ignored;
  const std::filesystem::path file(outcome->path), folder = file.parent_path();
  // The folders too, if nothing else is in them.
  for (const std::filesystem::path& each : {file, folder, folder.parent_path()})
    std::filesystem::remove(each, ignored);
  return kDone;
}

}  // namespace

Run add_top(CLI::App& app) {
  auto arguments = std::make_shared<TopArguments>();
  arguments->record.typed = "fathom top";
  add_top_options(app, arguments->record);
  begin_group(app, kOutputGroup);
  app.add_option("--metric", arguments->metric,
                 "cpu, waits or allocations; the key m changes it (default: cpu)")
      ->check(CLI::IsMember({"cpu", "waits", "allocations"}));
  app.add_option("-i,--interval", arguments->interval_s, "time between two tables (default: 1 s)")
      ->transform(seconds_word())
      ->check(CLI::Range(0.1, 3600.0))
      ->type_name("TIME");
  app.add_option("--rows", arguments->rows, "functions per printed table (default: 10)")
      ->check(CLI::Range(1, 200))
      ->type_name("N");
  app.footer(
      "Keys: m metric, o order by self or total, f filter, x no filter, space freeze, s save as a recording, q quit. If the output is not a terminal, fathom prints one table per interval.");
  return [arguments] { return run_top(*arguments); };
}

}  // namespace fathom::cli
