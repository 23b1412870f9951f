#include "cli/record_dry_run.h"

#include <fmt/format.h>

#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "analysis/core/words.h"
#include "cli/command.h"
#include "cli/cost_estimate.h"
#include "cli/notices.h"
#include "cli/output.h"
#include "record/session/engine_ladder.h"
#include "record/session/heap/heap_dry_run.h"
#include "record/session/launch.h"

namespace fathom::cli {
namespace {

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

}  // namespace

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

}  // namespace fathom::cli
