#include "linux/process/threads.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/files.h"
#include "linux/process/directory.h"
#include "linux/process/fields.h"

namespace fathom::process {

Result<std::vector<int>> read_thread_ids(int pid) {
  return numbers_in(fmt::format("/proc/{}/task", pid));
}

Result<std::string> read_thread_name(int pid, int tid) {
  auto name = read_file(fmt::format("/proc/{}/task/{}/comm", pid, tid));
  // A name may itself end in a newline; the kernel adds one of its own.
  if (name && name->ends_with('\n')) name->pop_back();
  return name;
}

bool has_children(int pid, int tid) {
  const auto children = read_file(fmt::format("/proc/{}/task/{}/children", pid, tid));
  return children && !children->empty();
}

Result<std::vector<ThreadInfo>> read_threads(int pid) {
  auto tids = read_thread_ids(pid);
  if (!tids) return tl::unexpected(tids.error());
  std::vector<ThreadInfo> threads;
  for (int tid : *tids) {
    if (auto name = read_thread_name(pid, tid)) threads.push_back({tid, std::move(*name)});
  }
  return threads;
}

Result<SchedulerTimes> parse_schedstat(std::string_view text) {
  std::string_view line;
  next_line(text, line);
  const auto ran = parse_number(next_field(line));
  const auto waited = parse_number(next_field(line));
  const auto slices = parse_number(next_field(line));
  if (!ran || !waited || !slices) return fail(ErrorKind::kMalformed, "schedstat does not hold three numbers");
  return SchedulerTimes{*ran, *waited, *slices};
}

Result<SchedulerTimes> read_schedstat(int pid, int tid) {
  const std::string path = fmt::format("/proc/{}/task/{}/schedstat", pid, tid);
  auto text = read_file(path);
  if (!text) return tl::unexpected(text.error());
  auto times = parse_schedstat(*text);
  if (!times) return within(path, times.error());
  return times;
}

}  // namespace fathom::process
