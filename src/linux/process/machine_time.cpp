#include "linux/process/machine_time.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "base/files.h"
#include "linux/process/fields.h"
#include "linux/process/status.h"

namespace fathom::process {

Result<MachineTime> parse_machine_time(std::string_view text) {
  std::string_view line;
  if (!next_line(text, line) || next_field(line) != "cpu")
    return fail(ErrorKind::kMalformed, "/proc/stat has no line of all CPUs");
  // user nice system idle iowait irq softirq steal; guests, which follow, are in user and nice already
  std::array<std::uint64_t, 8> ticks{};
  for (std::uint64_t& each : ticks) {
    const auto value = parse_number(next_field(line));
    if (!value) return fail(ErrorKind::kMalformed, "/proc/stat has not the times that were expected");
    each = *value;
  }
  const std::uint64_t idle = ticks[3] + ticks[4];
  return MachineTime{std::accumulate(ticks.begin(), ticks.end(), std::uint64_t{0}) - idle, ticks[7]};
}

Result<MachineTime> read_machine_time() {
  const auto text = read_file("/proc/stat");
  if (!text) return tl::unexpected(text.error());
  return parse_machine_time(*text);
}

std::optional<double> stolen_share(const MachineTime& before, const MachineTime& after) {
  if (after.busy_ticks < before.busy_ticks + ticks_per_second() || after.stolen_ticks < before.stolen_ticks)
    return std::nullopt;
  return static_cast<double>(after.stolen_ticks - before.stolen_ticks) /
         static_cast<double>(after.busy_ticks - before.busy_ticks);
}

std::optional<double> others_share(const MachineTime& before, const MachineTime& after, double known_s,
                                   double available_s) {
  if (available_s < 1 || after.busy_ticks < before.busy_ticks) return std::nullopt;
  const double busy_s =
      static_cast<double>(after.busy_ticks - before.busy_ticks) / static_cast<double>(ticks_per_second());
  return std::clamp((busy_s - known_s) / available_s, 0.0, 1.0);
}

}  // namespace fathom::process
