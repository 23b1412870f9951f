#include "tools/flight/recording/wall_witness.h"

#include <fcntl.h>
#include <linux/mount.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <string>
#include <utility>

#include "base/fd.h"
#include "base/files.h"
#include "base/parse.h"
#include "linux/perf/event.h"
#include "linux/process/fields.h"

namespace fathom::flight {
namespace {

constexpr std::uint32_t kStackBytes = 16 * 1024;

constexpr const char* kTracepoint = "events/oom/mark_victim/id";
constexpr std::size_t kMostOfFile = 64;

// tracefs, mounted for us alone: no folder shows it, and it goes away with the descriptor. It may be missing
// otherwise: in a container, or if no init mounts it. Needs CAP_SYS_ADMIN and Linux 5.2. The C library has
// these calls since 2.36 only.
Result<Fd> mount_tracefs() {
  const Fd context(static_cast<int>(::syscall(SYS_fsopen, "tracefs", FSOPEN_CLOEXEC)));
  if (!context) return system_error("tracefs", errno);
  if (::syscall(SYS_fsconfig, context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0)
    return system_error("tracefs", errno);
  Fd mounted(static_cast<int>(
      ::syscall(SYS_fsmount, context.get(), FSMOUNT_CLOEXEC, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOEXEC)));
  if (!mounted) return system_error("tracefs", errno);
  return mounted;
}

Result<std::uint64_t> read_tracepoint_id() {
  for (const char* folder : {"/sys/kernel/tracing/", "/sys/kernel/debug/tracing/"})
    if (const auto text = read_file(std::string(folder) + kTracepoint, kMostOfFile))
      if (const auto id = parse_tracepoint_id(*text)) return *id;
  if (const auto mounted = mount_tracefs()) {
    const Fd file(::openat(mounted->get(), kTracepoint, O_RDONLY | O_CLOEXEC));
    if (file)
      if (const auto text = read_file(file, kTracepoint, kMostOfFile))
        if (const auto id = parse_tracepoint_id(*text)) return *id;
  }
  return fail(
      ErrorKind::kUnsupported, "the tracepoint oom:mark_victim cannot be read here",
      "run as root; inside a container also with tracefs mounted: mount -t tracefs tracefs /sys/kernel/tracing");
}

perf_event_attr attributes_of(std::uint64_t tracepoint) {
  perf_event_attr attributes = sources::base_attributes();
  attributes.type = PERF_TYPE_TRACEPOINT;
  attributes.config = tracepoint;
  attributes.sample_period = 1;
  attributes.sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
  attributes.sample_regs_user = sources::RecordDecoder::kUserRegisters;
  attributes.sample_stack_user = kStackBytes;
  return attributes;
}

}  // namespace

std::optional<std::uint64_t> parse_tracepoint_id(std::string_view text) {
  std::string_view line;
  (void)process::next_line(text, line);
  const auto id = parse_number(line);
  return id && *id > 0 ? id : std::nullopt;
}

Result<WallWitness> WallWitness::open() {
  const auto id = read_tracepoint_id();
  if (!id) return tl::unexpected<Error>(id.error());
  const perf_event_attr attributes = attributes_of(*id);
  // Several kills at once leave a record each.
  const std::size_t bytes = std::bit_ceil(std::size_t{4} * (kStackBytes + 1024));
  auto rings = sources::RingSet::open(
      sources::RecordDecoder(attributes), bytes, bytes / 2,
      [&](int cpu, std::size_t) { return sources::open_event(attributes, -1, cpu, "oom:mark_victim"); });
  if (!rings) return tl::unexpected<Error>(rings.error());
  return WallWitness(std::move(*rings));
}

std::vector<sources::CopiedStackSample> WallWitness::take() {
  std::vector<sources::Event> events;
  rings_.drain(events);
  std::vector<sources::CopiedStackSample> samples;
  for (sources::Event& event : events)
    if (auto* sample = std::get_if<sources::CopiedStackSample>(&event)) samples.push_back(std::move(*sample));
  return samples;
}

}  // namespace fathom::flight
