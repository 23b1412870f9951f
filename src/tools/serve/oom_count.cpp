#include "tools/serve/oom_count.h"

#include "base/files.h"
#include "base/parse.h"
#include "base/text.h"
#include "linux/process/cgroup.h"

namespace fathom::serve {
namespace {

constexpr std::size_t kMostText = 64 << 10;

// "": the group of this process counts nothing, as the root does.
std::string counting_file(std::int32_t pid) {
  const auto group = process::read_memory_cgroup(pid);
  if (!group || !*group) return "";
  const std::string file =
      (*group)->directory + ((*group)->version == 2 ? "/memory.events" : "/memory.oom_control");
  const auto text = read_file(file, kMostText);
  return text && oom_kills_in(*text) ? file : "";
}

}  // namespace

std::optional<std::uint64_t> oom_kills_in(std::string_view text) {
  while (!text.empty()) {
    std::string_view line = take_line(text);
    constexpr std::string_view kName = "oom_kill ";
    if (!line.starts_with(kName)) continue;
    line.remove_prefix(kName.size());
    if (const auto kills = parse_number(line)) return kills;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> OomCount::take(const std::vector<std::int32_t>& pids) {
  if (!pids.empty() && pids.front() != pid_) {
    pid_ = pids.front();
    const std::string file = counting_file(pid_);
    file_ = file.empty() ? "/proc/vmstat" : file;
  }
  const auto text = read_file(file_, kMostText);
  return text ? oom_kills_in(*text) : std::nullopt;
}

}  // namespace fathom::serve
