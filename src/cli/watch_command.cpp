// fathom watch: what the memory of living processes consists of, now and over time.
#include <memory>
#include <optional>

#include "base/shell_word.h"
#include "cli/command.h"
#include "cli/flight_beside.h"
#include "cli/notices.h"
#include "cli/stale_tracers.h"
#include "cli/watch_arguments.h"
#include "cli/watch_loop.h"
#include "cli/watch_maps.h"
#include "cli/watch_signals.h"

namespace fathom::cli {
namespace {

Result<int> run_watch(WatchArguments& arguments) {
  const auto pids = find_watched(arguments);
  if (!pids) return tl::unexpected<Error>(pids.error());
  say_stale_tracers(*pids);
  WatchSignals signals;
  std::optional<FlightBeside> flight;
  if (!arguments.flight.empty()) {
    if (pids->size() != 1)
      return fail(ErrorKind::kUsage, "--flight records one process, and several are watched",
                  "fathom watch --flight FILE PID");
    auto started = FlightBeside::start({pids->front(), arguments.flight, arguments.flight_heap});
    if (!started) return tl::unexpected<Error>(started.error());
    flight.emplace(std::move(*started));
  }
  const auto status =
      arguments.maps ? print_mappings(arguments, *pids, signals) : watch_until_end(arguments, *pids, signals);
  if (!status || !flight) return status;
  // It may have seen the end of the process, or is asked to end; its file is whole then.
  if (auto ended = flight->finish(); !ended) return tl::unexpected<Error>(ended.error());
  say("fathom: flight recording in {}\nnext: fathom report {}\n", arguments.flight,
      shell_word(arguments.flight));
  return status;
}

}  // namespace

Run add_watch(CLI::App& app) {
  auto arguments = std::make_shared<WatchArguments>();
  add_watch_options(app, *arguments);
  return [arguments] { return run_watch(*arguments); };
}

}  // namespace fathom::cli
