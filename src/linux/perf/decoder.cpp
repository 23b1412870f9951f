#include "linux/perf/decoder.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>

#include "base/cursor.h"

namespace fathom::sources {
namespace {

constexpr std::uint64_t kTrailerFlags = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
constexpr std::uint64_t kSupported =
    kTrailerFlags | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
constexpr std::uint64_t kFirstContext =
    static_cast<std::uint64_t>(-4095);  // PERF_CONTEXT_MAX: markers lie above

// The end of every record but samples: whose it is, and when.
struct Trailer {
  std::int32_t pid = 0, tid = 0;
  std::uint64_t time_ns = 0;
};

// Up to the NUL that the kernel pads with; the text is the whole rest of a record's body.
std::string padded_text(Cursor& in) {
  const auto chars = in.read_chars(in.remaining());
  return std::string(chars.substr(0, chars.find('\0')));
}

Event decode_comm(Cursor& body, std::uint16_t misc, const Trailer& trailer) {
  const auto pid = body.read<std::int32_t>();
  const auto tid = body.read<std::int32_t>();
  std::string name = padded_text(body);
  if ((misc & PERF_RECORD_MISC_COMM_EXEC) != 0)
    return ProcessExeced{trailer.time_ns, pid, tid, std::move(name)};
  return ThreadNamed{trailer.time_ns, pid, tid, std::move(name)};
}

Event decode_fork(Cursor& body) {
  const auto pid = body.read<std::int32_t>();
  const auto parent_pid = body.read<std::int32_t>();
  const auto tid = body.read<std::int32_t>();
  body.skip(sizeof(std::int32_t));
  const auto time_ns = body.read<std::uint64_t>();
  if (pid == parent_pid) return ThreadStarted{time_ns, pid, tid};
  return ProcessForked{time_ns, pid, parent_pid};
}

Event decode_exit(Cursor& body) {
  const auto pid = body.read<std::int32_t>();
  body.skip(sizeof(std::int32_t));
  const auto tid = body.read<std::int32_t>();
  body.skip(sizeof(std::int32_t));
  return ThreadEnded{body.read<std::uint64_t>(), pid, tid};
}

Event decode_mmap2(Cursor& body, const Trailer& trailer) {
  MemoryMapped event{.time_ns = trailer.time_ns,
                     .pid = body.read<std::int32_t>(),
                     .tid = body.read<std::int32_t>(),
                     .mapping = {}};
  process::MapEntry& mapping = event.mapping;
  mapping.start.value = body.read<std::uint64_t>();
  const auto length = body.read<std::uint64_t>();
  mapping.end.value = mapping.start.value + length;
  if (mapping.end < mapping.start) body.fail();
  mapping.offset.value = body.read<std::uint64_t>();
  mapping.device_major = body.read<std::uint32_t>();
  mapping.device_minor = body.read<std::uint32_t>();
  mapping.inode = body.read<std::uint64_t>();
  body.skip(sizeof(std::uint64_t));  // the inode's generation
  const auto protection = body.read<std::uint32_t>();
  mapping.readable = (protection & PROT_READ) != 0;
  mapping.writable = (protection & PROT_WRITE) != 0;
  mapping.executable = (protection & PROT_EXEC) != 0;
  mapping.shared = (body.read<std::uint32_t>() & MAP_SHARED) != 0;
  mapping.path = padded_text(body);
  // As in /proc/PID/maps: no name for memory without a file, and the mark of a deleted file apart from its
  // name.
  if (mapping.path == "//anon") mapping.path.clear();
  mapping.deleted = mapping.inode != 0 && process::strip_deleted(mapping.path);
  return event;
}

CopiedStackSample decode_sample(Cursor& in, std::uint64_t sample_type) {
  CopiedStackSample sample;
  const auto has = [&](std::uint64_t flag) { return (sample_type & flag) != 0; };
  sample.pid = in.read<std::int32_t>();
  sample.tid = in.read<std::int32_t>();
  sample.time_ns = in.read<std::uint64_t>();
  if (has(PERF_SAMPLE_CPU)) {
    sample.cpu = static_cast<std::uint16_t>(in.read<std::uint32_t>());
    in.skip(sizeof(std::uint32_t));
  }
  if (has(PERF_SAMPLE_CALLCHAIN)) {
    const auto count = in.read<std::uint64_t>();
    if (count > in.remaining() / sizeof(std::uint64_t)) in.fail();
    bool in_kernel = false;
    for (std::uint64_t i = 0; in.ok() && i < count; ++i) {
      const auto address = in.read<std::uint64_t>();
      if (address >= kFirstContext)
        in_kernel = address == static_cast<std::uint64_t>(PERF_CONTEXT_KERNEL);
      else if (in_kernel)
        sample.kernel.push_back(address);
    }
  }
  const auto abi = in.read<std::uint64_t>();
  if (abi != PERF_SAMPLE_REGS_ABI_NONE) {
    std::array<std::uint64_t, 3> registers{};
    for (std::uint64_t& each : registers) each = in.read<std::uint64_t>();
    sample.frame_pointer = registers[arch::kPerfFp];
    sample.stack_pointer = registers[arch::kPerfSp];
    sample.instruction_pointer = registers[arch::kPerfPc];
    sample.has_user = abi == PERF_SAMPLE_REGS_ABI_64;
  }
  if (has(PERF_SAMPLE_STACK_USER)) {
    const auto size = in.read<std::uint64_t>();
    Cursor copy = in.sub(size);
    // The record keeps the size that was asked for; the valid length, where the stack was shorter, stands
    // behind it.
    const auto valid = size == 0 ? 0 : in.read<std::uint64_t>();
    if (valid > size) in.fail();
    if (in.ok() && sample.has_user) {
      const auto bytes = copy.read_bytes(valid);
      sample.stack.assign(bytes.begin(), bytes.end());
    }
  }
  return sample;
}

bool is_ours(const Event& event) {
  return std::visit(
      [](const auto& e) {
        if constexpr (requires { e.pid; })
          return e.pid > 0;
        else
          return true;
      },
      event);
}

}  // namespace

RecordDecoder::RecordDecoder(const perf_event_attr& attributes)
    : sample_type_(attributes.sample_type),
      trailer_size_(static_cast<std::size_t>(std::popcount(sample_type_ & kTrailerFlags)) *
                    sizeof(std::uint64_t)) {
  assert(attributes.sample_id_all == 1 && (sample_type_ & ~kSupported) == 0 && has(PERF_SAMPLE_TID) &&
         has(PERF_SAMPLE_TIME));
  assert(!has(PERF_SAMPLE_REGS_USER) || attributes.sample_regs_user == kUserRegisters);
}

Result<std::optional<Event>> RecordDecoder::decode(std::span<const std::byte> record,
                                                   std::uint16_t cpu) const {
  Cursor in(record);
  const auto type = in.read<std::uint32_t>();
  const auto misc = in.read<std::uint16_t>();
  const auto size = in.read<std::uint16_t>();
  const auto malformed = [&] {
    return fail(ErrorKind::kMalformed,
                fmt::format("perf record of type {} and {} bytes is cut short", type, record.size()));
  };
  if (!in.ok() || size != record.size()) return malformed();

  if (type == PERF_RECORD_SAMPLE) {
    if (!takes_samples()) return std::nullopt;
    CopiedStackSample sample = decode_sample(in, sample_type_);
    if (!in.ok()) return malformed();
    if (sample.pid <= 0) return std::nullopt;
    return Event(std::move(sample));
  }
  if (type == PERF_RECORD_THROTTLE || type == PERF_RECORD_UNTHROTTLE) {
    const auto time_ns = in.read<std::uint64_t>();
    if (!in.ok()) return malformed();
    return Event(Throttled{time_ns, cpu, type == PERF_RECORD_THROTTLE});
  }

  // An event that was redirected to this ring may have a trailer of another size; LOST is worth more than its
  // time.
  const bool is_lost = type == PERF_RECORD_LOST || type == PERF_RECORD_LOST_SAMPLES;
  const std::size_t lost_size = type == PERF_RECORD_LOST ? 16 : 8;
  const bool has_trailer =
      in.remaining() >= trailer_size_ && (!is_lost || in.remaining() == lost_size + trailer_size_);
  if (!has_trailer && !is_lost) return malformed();
  const std::size_t body_size = in.remaining() - (has_trailer ? trailer_size_ : 0);
  Cursor body = in.sub(body_size);
  Trailer trailer;
  if (has_trailer) {
    trailer.pid = in.read<std::int32_t>();
    trailer.tid = in.read<std::int32_t>();
    trailer.time_ns = in.read<std::uint64_t>();
  }

  std::optional<Event> event;
  switch (type) {
    case PERF_RECORD_COMM:
      event = decode_comm(body, misc, trailer);
      break;
    case PERF_RECORD_FORK:
      event = decode_fork(body);
      break;
    case PERF_RECORD_EXIT:
      event = decode_exit(body);
      break;
    case PERF_RECORD_MMAP2:
      event = decode_mmap2(body, trailer);
      break;
    case PERF_RECORD_LOST:
      body.skip(sizeof(std::uint64_t));  // the id of the event that noticed
      [[fallthrough]];
    case PERF_RECORD_LOST_SAMPLES:
      event = Lost{
          trailer.time_ns, body.read<std::uint64_t>(),
          takes_samples() || type == PERF_RECORD_LOST_SAMPLES ? Lost::What::kSamples : Lost::What::kRecords};
      break;
    case PERF_RECORD_SWITCH_CPU_WIDE:
      body.skip(2 * sizeof(std::uint32_t));  // the other thread of the switch
      [[fallthrough]];
    case PERF_RECORD_SWITCH: {
      const bool out = (misc & PERF_RECORD_MISC_SWITCH_OUT) != 0;
      event = ThreadSwitched{trailer.time_ns,
                             trailer.pid,
                             trailer.tid,
                             cpu,
                             out,
                             out && (misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT) != 0};
      break;
    }
    default:
      return std::nullopt;
  }
  if (!body.ok()) return malformed();
  if (!is_ours(*event)) return std::nullopt;
  return event;
}

}  // namespace fathom::sources
