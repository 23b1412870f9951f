#include "tools/limit/wall.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "analysis/core/words.h"
#include "base/files.h"
#include "base/parse.h"
#include "base/stable_sort.h"
#include "linux/process/fields.h"
#include "linux/process/status.h"
#include "present/text/text_table.h"

namespace fathom::limit {
namespace {

std::string size_text(std::uint64_t value) {
  return analysis::bytes(static_cast<double>(value));
}

// "under_oom 1", "frozen 1"
std::uint64_t value_in(const std::string& path, std::string_view name) {
  const auto text = read_file(path);
  if (!text) return 0;
  std::string_view rest = *text, line;
  while (process::next_line(rest, line))
    if (process::next_field(line) == name) return parse_number(process::next_field(line)).value_or(0);
  return 0;
}

// The brake has to be felt before the limit is: half a percent of a large one, and what a burst of faults takes of a small one.
std::uint64_t brake_of(std::uint64_t limit) {
  constexpr std::uint64_t kLeast = std::uint64_t{1} << 20;
  return limit - std::min(limit / 2, std::max(limit / 16, kLeast));
}

}  // namespace

Result<> Wall::arm() const {
  if (group_.version() == 2)
    return write_control(group_.file("memory.high"), std::to_string(brake_of(limits_.memory_bytes)));
  if (auto written = write_control(group_.file("memory.oom_control"), "1"); !written) return written;
  if (value_in(group_.file("memory.oom_control"), "oom_kill_disable") != 1)
    return fail(ErrorKind::kUnsupported,
                group_.file("memory.oom_control") + ": this kernel does not hold at the limit",
                "leave --hold out");
  return {};
}

bool Wall::met() const {
  if (group_.version() == 1) return value_in(group_.file("memory.oom_control"), "under_oom") == 1;
  if (value_in(group_.file("memory.events"), "high") == 0) return false;
  return write_control(group_.file("cgroup.freeze"), "1").has_value();
}

Result<> Wall::let_go(std::optional<std::uint64_t> more) const {
  if (more) {
    // The sum may never be below the memory.
    if (group_.version() == 1) {
      (void)write_control(group_.file("memory.memsw.limit_in_bytes"),
                          std::to_string(*more + limits_.swap_bytes))
          .has_value();
      if (auto raised = write_control(group_.file("memory.limit_in_bytes"), std::to_string(*more)); !raised)
        return raised;
    } else if (auto raised = write_control(group_.file("memory.max"), std::to_string(*more)); !raised) {
      return raised;
    }
  }
  if (group_.version() == 1) return write_control(group_.file("memory.oom_control"), "0");
  if (auto freed = write_control(group_.file("memory.high"), "max"); !freed) return freed;
  return write_control(group_.file("cgroup.freeze"), "0");
}

std::string describe_at_wall(const MemoryGroup& group, std::size_t width) {
  const GroupState state = group.read();
  std::string parts;
  for (const auto& [name, bytes] : state.parts)
    parts += fmt::format("{}{} {}", parts.empty() ? "" : ", ", name, size_text(bytes));
  std::string text =
      present::fill("  group   ", fmt::format("{}: {}", size_text(state.usage_bytes), parts), width, 10);
  std::vector<std::pair<std::uint64_t, std::string>> rows;
  for (const int pid : group.processes()) {
    const auto status = process::read_status(pid);
    if (!status) continue;
    const std::uint64_t resident = status->rss_anon + status->rss_file + status->rss_shmem;
    rows.emplace_back(
        resident, fmt::format("{} (pid {}): {} resident (anonymous {}, files {}, shared {}); page tables {}",
                              analysis::printable(status->name), pid, size_text(resident),
                              size_text(status->rss_anon), size_text(status->rss_file),
                              size_text(status->rss_shmem), size_text(status->page_tables)));
  }
  stable_sort_rows(rows, std::greater{}, [](const auto& row) { return row.first; });
  constexpr std::size_t kMost = 5;
  for (std::size_t i = 0; i < std::min(rows.size(), kMost); ++i)
    text += present::fill(i == 0 ? "  inside  " : "          ", rows[i].second, width, 10);
  return text;
}

}  // namespace fathom::limit
