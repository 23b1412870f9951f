// Text of /proc and of perf maps: every parser on every input. Accepted input must keep the promises of the
// parser's header.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "linux/memory/memory_limits.h"
#include "linux/memory/memory_map.h"
#include "linux/memory/memory_reading.h"
#include "linux/memory/memory_sampler.h"
#include "linux/perf/event.h"
#include "linux/process/blocked_thread.h"
#include "linux/process/cgroup.h"
#include "linux/process/ending.h"
#include "linux/process/find.h"
#include "linux/process/jit_dump.h"
#include "linux/process/kallsyms.h"
#include "linux/process/machine_time.h"
#include "linux/process/maps.h"
#include "linux/process/perf_map.h"
#include "linux/process/status.h"
#include "linux/process/threads.h"
#include "record/proc/kernel_stack.h"
#include "record/session/memory/oom_watch.h"
#include "tools/flight/recording/wall_witness.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fathom::process;
  const std::string_view text(reinterpret_cast<const char*>(data), size);

  if (const auto entries = parse_maps(text)) {
    for (const MapEntry& entry : *entries) require(entry.start <= entry.end);
    // Pages over all of them: each one is counted once, in a mapping or elsewhere.
    bool ascending = true;
    for (std::size_t i = 1; i < entries->size(); ++i)
      ascending = ascending && (*entries)[i - 1].end <= (*entries)[i].start;
    if (ascending) {
      fathom::sources::PageSums sums(*entries, {});
      sums.add({.start = 0, .end = std::uint64_t{1} << 47, .resident = true});
      fathom::sources::MemoryReading reading;
      sums.finish(0, reading);
      std::uint64_t sum = reading.elsewhere;
      for (const auto& mapping : reading.mappings) sum += mapping.rss;
      require(sum == std::uint64_t{1} << 47);
    }
  }
  // In two pieces the result is the same as in one, and every mapping is judged.
  const auto whole = fathom::sources::parse_smaps(text);
  fathom::sources::SmapsParser parser;
  const bool fed = parser.feed(text.substr(0, size / 2)) && parser.feed(text.substr(size / 2));
  require(fed == whole.has_value());
  if (whole) {
    require(parser.finish().value() == *whole);
    for (const auto& mapping : *whole) require(mapping.anonymous <= mapping.rss);
    const fathom::sources::StackPointer stack{whole->empty() ? 0 : whole->front().entry.start.value, "x"};
    require(fathom::sources::judge_mappings(*whole, std::span(&stack, 1)).size() == whole->size());
  }
  if (const auto symbols = parse_kallsyms(text)) {
    for (std::size_t i = 1; i < symbols->size(); ++i)
      require((*symbols)[i - 1].address <= (*symbols)[i].address);
  }
  const auto jitted = parse_perf_map(text);
  for (const auto& entry : parse_jit_dump([&](std::uint64_t offset, std::span<char> bytes) -> std::size_t {
         if (offset >= text.size()) return 0;
         const std::size_t count = std::min(bytes.size(), text.size() - static_cast<std::size_t>(offset));
         std::memcpy(bytes.data(), text.data() + offset, count);
         return count;
       }))
    require(entry.size != 0 && entry.start.value + entry.size > entry.start.value && !entry.name.empty());
  for (std::size_t i = 0; i < jitted.size(); ++i) {
    require(jitted[i].size > 0 && jitted[i].start.value + jitted[i].size > jitted[i].start.value);
    if (i > 0) require(jitted[i - 1].start.value + jitted[i - 1].size <= jitted[i].start.value);
  }
  const auto memberships = parse_cgroup(text);
  const auto mounts = parse_cgroup_mounts(text);
  if (const auto cgroup = memory_cgroup(memberships, mounts))
    require(cgroup->version == 1 || cgroup->version == 2);
  (void)guess_container(memberships);
  (void)parse_status(text).has_value();
  (void)parse_stat(text).has_value();
  (void)parse_schedstat(text).has_value();
  (void)parse_machine_time(text).has_value();
  (void)parse_namespace(text);
  if (const auto code = parse_exit_code(text)) require(!ending_in_words(*code).empty());
  (void)fathom::sources::parse_process_limits(text);
  (void)fathom::sources::parse_pressure(text);
  (void)fathom::sources::parse_memory_limit(text);
  (void)fathom::session::parse_oom_kills(text);
  (void)fathom::session::parse_ooms(text);
  (void)fathom::flight::parse_tracepoint_id(text);
  (void)fathom::sources::parse_cpu_list(text);
  (void)fathom::sources::parse_blocked_thread(text);
  (void)fathom::sources::parse_kernel_stack(text);
  const auto machine = fathom::sources::parse_meminfo(text);
  for (const int version : {1, 2}) {
    const auto group = fathom::sources::parse_group_memory(text, version);
    const fathom::sources::MemoryLimit limit{fathom::sources::LimitKind::kControlGroup, "", machine.total,
                                             machine.available, group.page_cache};
    require(limit.room() <= limit.limit);
  }
  ProcessInfo process;
  process.arguments = parse_command_line(text);
  require(describe(process, 50).size() <= 50);
  return 0;
}
