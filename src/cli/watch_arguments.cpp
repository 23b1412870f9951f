#include "cli/watch_arguments.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/parse.h"
#include "cli/command.h"
#include "cli/option_groups.h"
#include "cli/seconds_word.h"
#include "linux/process/find.h"
#include "tools/watch/mappings.h"

namespace fathom::cli {

void add_watch_options(CLI::App& app, WatchArguments& arguments) {
  begin_group(app, kTargetGroup);
  app.add_option("target", arguments.targets, "processes, by number or exact name")->type_name("TARGET");
  app.add_option("-p,--pid", arguments.pids, "process with this number")
      ->check(CLI::PositiveNumber)
      ->allow_extra_args(false);
  app.add_option("-n,--name", arguments.names, "all processes with exactly this name")
      ->allow_extra_args(false);
  add_group_options(app, arguments.groups);
  begin_group(app, kOutputGroup);
  app.add_flag("--once", arguments.once, "print once and exit");
  app.add_flag("--json", arguments.json, "print one JSON object per line");
  app.add_option("-i,--interval", arguments.interval_s, "time between readings: 1, 500ms, 1m; at least 0.1")
      ->transform(seconds_word())
      ->check(CLI::Range(0.1, 86400.0))
      ->type_name("TIME")
      ->capture_default_str();
  app.add_option("--log", arguments.log,
                 "also append readings to this file: CSV if it ends in .csv, else JSON lines")
      ->type_name("FILE");
  add_metrics_options(app, arguments.metrics);
  auto* listen = app.add_option("--listen", arguments.listen,
                                "serve Prometheus metrics at 127.0.0.1:PORT, [::1]:PORT or unix:PATH")
                     ->type_name("ADDRESS")
                     ->excludes("--once");
  app.add_option(
         "--listen-token", arguments.token_file,
         "file (mode 0600) with the bearer token that clients must send; required unless the address is loopback")
      ->type_name("FILE")
      ->needs(listen);
  auto* flight = app.add_option("--flight", arguments.flight,
                                "also keep a flight recording in this file (docs/flight.md)")
                     ->type_name("FILE")
                     ->excludes("--once");
  app.add_flag("--heap", arguments.flight_heap,
               "with --flight: also sample the heap; puts hooks into the process")
      ->needs(flight);
  auto* maps = app.add_flag("--maps", arguments.maps, "print every mapping, largest first, and exit");
  begin_group(app, kRareGroup);
  app.add_option("--sort", arguments.maps_order, "order of --maps, largest first (default: resident)")
      ->check(CLI::IsMember(watch::names_of_mapping_orders()))
      ->type_name("COLUMN")
      ->needs(maps);
  app.add_option("--change", arguments.maps_change_s,
                 "with --maps: read twice, this long apart, and print only what changed")
      ->transform(seconds_word())
      ->check(CLI::Range(0.1, 86400.0))
      ->type_name("TIME")
      ->needs(maps);
  app.footer(
      "Without --heap, watch does not stop or change the process. On a terminal it refreshes one screen: o orders by growth, space freezes, q quits. Otherwise it prints one line per reading; Ctrl-C ends it. Without root it shows processes of the same user. --log renames a file of 16 MiB to FILE.1 and keeps four old ones. With --listen, watch waits for processes that you name, before they start and after they end. --flight FILE --heap records memory by call site for weeks, also after a crash.");
}

std::vector<std::string> watched_names(const WatchArguments& arguments) {
  std::vector<std::string> names = arguments.names;
  for (const std::string& target : arguments.targets)
    if (!parse_number<std::int32_t>(target)) names.push_back(target);
  return names;
}

Result<std::vector<std::int32_t>> find_watched(WatchArguments& arguments) {
  if (arguments.groups.given() != 0) {
    if (arguments.groups.given() > 1 || !arguments.targets.empty() || !arguments.pids.empty() ||
        !arguments.names.empty())
      return fail(ErrorKind::kUsage, "more than one kind of target", "fathom watch --container NAME, alone");
    auto group = find_group(arguments.groups);
    if (!group) return tl::unexpected<Error>(group.error());
    arguments.group = std::move(*group);
    return process::members_of(*arguments.group);
  }
  std::vector<std::int32_t> pids(arguments.pids.begin(), arguments.pids.end());
  for (const std::string& target : arguments.targets)
    if (const auto pid = parse_number<std::int32_t>(target)) pids.push_back(*pid);
  for (const std::string& name : watched_names(arguments)) {
    const auto found = process::find_by_name(name);
    if (!found) return tl::unexpected<Error>(found.error());
    if (found->empty() && arguments.listen.empty())  // who serves waits for it
      return fail(ErrorKind::kNotFound, fmt::format("no process is named '{}'", name),
                  "the exact name, as ps -C NAME has it, or its number");
    for (const process::ProcessInfo& process : *found) pids.push_back(process.pid);
  }
  std::vector<std::int32_t> once;
  for (const std::int32_t pid : pids)
    if (std::find(once.begin(), once.end(), pid) == once.end()) once.push_back(pid);
  if (once.empty() && (arguments.listen.empty() || watched_names(arguments).empty()))
    return fail(ErrorKind::kUsage, "watch: no process is named", "fathom watch NAME, or fathom watch PID");
  return once;
}

}  // namespace fathom::cli
