#include "cli/watch_maps.h"

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <utility>

#include "base/clock.h"
#include "cli/command.h"
#include "cli/output.h"
#include "linux/process/find.h"
#include "present/tui/screen.h"
#include "tools/watch/json.h"
#include "tools/watch/look.h"
#include "tools/watch/mappings.h"
#include "tools/watch/text.h"

namespace fathom::cli {
namespace {

using Mappings = std::vector<watch::WatchedMapping>;

Result<std::vector<Mappings>> read_mappings(std::vector<watch::Watched>& processes) {
  std::vector<Mappings> all;
  for (watch::Watched& process : processes) {
    auto mappings = process.mappings();
    if (!mappings) return tl::unexpected<Error>(mappings.error());
    all.push_back(std::move(*mappings));
  }
  return all;
}

void wait_s(double seconds, WatchSignals& signals) {
  const std::uint64_t until_ns = monotonic_ns() + static_cast<std::uint64_t>(std::llround(seconds * 1e9));
  while (signals.wait_until(until_ns, -1) == WatchSignals::Wake::kResize) continue;
}

std::string text_of(const process::ProcessInfo& process, const Mappings& mappings, bool json) {
  if (json) return watch::mappings_json(process.pid, process.name, mappings) + "\n";
  return fmt::format("{}\n", process::describe(process)) +
         watch::mappings_text(
             mappings, {.width = output_is_narrow() ? output_width() : 0, .color = output_has_color()});
}

}  // namespace

Result<int> print_mappings(const WatchArguments& arguments, const std::vector<std::int32_t>& pids,
                           WatchSignals& signals) {
  std::vector<watch::Watched> processes;
  for (const std::int32_t pid : pids) {
    auto watched = watch::Watched::open(pid);
    if (!watched) return tl::unexpected<Error>(watched.error());
    processes.push_back(std::move(*watched));
  }
  auto usual = watch::MappingOrder::kResident;
  auto mappings = read_mappings(processes);
  if (mappings && arguments.maps_change_s) {
    wait_s(*arguments.maps_change_s, signals);
    usual = watch::MappingOrder::kChange;
    auto later = read_mappings(processes);
    for (std::size_t i = 0; later && i < processes.size(); ++i)
      (*later)[i] = watch::changed_mappings((*mappings)[i], std::move((*later)[i]));
    mappings = std::move(later);
  }
  if (!mappings) return tl::unexpected<Error>(mappings.error());
  const auto order = watch::mapping_order_from(arguments.maps_order).value_or(usual);
  for (std::size_t i = 0; i < processes.size(); ++i) {
    watch::sort_mappings((*mappings)[i], order);
    if (!tui::put_on_output(text_of(processes[i].process(), (*mappings)[i], arguments.json))) break;
  }
  return kDone;
}

}  // namespace fathom::cli
