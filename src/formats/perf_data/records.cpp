#include "formats/perf_data/records.h"

#include <algorithm>
#include <bit>

#include "base/cursor.h"

namespace fathom::formats {
namespace {

constexpr std::uint16_t kMappingHasBuildId = 1 << 14;
constexpr std::size_t kMostPath = 4096;
constexpr std::uint64_t kReadLost = 1 << 4;  // PERF_FORMAT_LOST, newer than the headers of some systems

std::string_view padded_text(Cursor& in) {
  const std::string_view chars = in.read_chars(in.remaining());
  return chars.substr(0, std::min(chars.find('\0'), kMostPath));
}

void skip_read_values(Cursor& in, std::uint64_t format) {
  const auto has = [&](std::uint64_t flag) { return std::uint64_t{(format & flag) != 0 ? 1u : 0u}; };
  const std::uint64_t times = has(PERF_FORMAT_TOTAL_TIME_ENABLED) + has(PERF_FORMAT_TOTAL_TIME_RUNNING);
  const std::uint64_t each = 1 + has(PERF_FORMAT_ID) + has(kReadLost);
  if (has(PERF_FORMAT_GROUP) == 0) {
    in.skip((each + times) * 8);
    return;
  }
  const auto count = in.read<std::uint64_t>();
  in.skip(times * 8);
  if (count > in.remaining() / 8)
    in.fail();
  else
    in.skip(count * each * 8);
}

void skip_branches(Cursor& in, const perf_event_attr& attributes) {
  constexpr std::uint64_t kIndex = 1 << 17, kCounters = 1 << 19, kEntry = 24;
  const auto count = in.read<std::uint64_t>();
  if ((attributes.branch_sample_type & kIndex) != 0) in.skip(8);
  if (count > in.remaining() / kEntry)
    in.fail();
  else
    in.skip(count * (kEntry + ((attributes.branch_sample_type & kCounters) != 0 ? 8 : 0)));
}

// What stands at the end of records that are no samples.
struct Trailer {
  std::int32_t tid = 0;
  std::uint64_t time_ns = 0;
};
Trailer trailer_of(const PerfRecord& record, const perf_event_attr& attributes) {
  Trailer trailer;
  if (attributes.sample_id_all == 0) return trailer;
  const std::uint64_t type = attributes.sample_type;
  constexpr std::uint64_t kFields = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |
                                    PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER;
  const auto size = static_cast<std::size_t>(std::popcount(type & kFields)) * 8;
  if (record.body.size() < size) return trailer;
  Cursor in(record.body.last(size));
  if ((type & PERF_SAMPLE_TID) != 0) {
    in.skip(4);
    trailer.tid = in.read<std::int32_t>();
  }
  if ((type & PERF_SAMPLE_TIME) != 0) trailer.time_ns = in.read<std::uint64_t>();
  return trailer;
}

}  // namespace

std::optional<PerfSample> parse_sample(const PerfRecord& record, const perf_event_attr& attributes) {
  Cursor in(record.body);
  PerfSample sample;
  const auto has = [&](std::uint64_t flag) { return (attributes.sample_type & flag) != 0; };
  if (has(PERF_SAMPLE_IDENTIFIER)) in.skip(8);
  if (has(PERF_SAMPLE_IP)) sample.ip = in.read<std::uint64_t>();
  if (has(PERF_SAMPLE_TID)) {
    sample.pid = in.read<std::int32_t>();
    sample.tid = in.read<std::int32_t>();
  }
  if (has(PERF_SAMPLE_TIME)) sample.time_ns = in.read<std::uint64_t>();
  if (has(PERF_SAMPLE_ADDR)) in.skip(8);
  if (has(PERF_SAMPLE_ID)) in.skip(8);
  if (has(PERF_SAMPLE_STREAM_ID)) in.skip(8);
  if (has(PERF_SAMPLE_CPU)) {
    sample.cpu = in.read<std::uint32_t>();
    in.skip(4);
  }
  if (attributes.freq == 0) sample.period = attributes.sample_period;
  if (has(PERF_SAMPLE_PERIOD)) sample.period = in.read<std::uint64_t>();
  if (has(PERF_SAMPLE_READ)) skip_read_values(in, attributes.read_format);
  if (has(PERF_SAMPLE_CALLCHAIN)) {
    const auto count = in.read<std::uint64_t>();
    if (count > in.remaining() / 8) return std::nullopt;
    sample.chain = in.read_bytes(count * 8);
  }
  if (has(PERF_SAMPLE_RAW)) {
    const auto size = in.read<std::uint32_t>();
    sample.raw = in.read_bytes(size);
  }
  if (has(PERF_SAMPLE_BRANCH_STACK)) skip_branches(in, attributes);
  if (has(PERF_SAMPLE_REGS_USER)) {
    sample.register_abi = in.read<std::uint64_t>();
    sample.register_mask = attributes.sample_regs_user;
    if (sample.register_abi != PERF_SAMPLE_REGS_ABI_NONE)
      sample.registers = in.read_bytes(static_cast<std::uint64_t>(std::popcount(sample.register_mask)) * 8);
  }
  if (has(PERF_SAMPLE_STACK_USER)) {
    const auto size = in.read<std::uint64_t>();
    const auto copy = in.read_bytes(size);
    // What the kernel could copy; the rest of the area is no stack.
    const std::uint64_t copied = size != 0 ? in.read<std::uint64_t>() : 0;
    sample.stack = copy.first(static_cast<std::size_t>(std::min<std::uint64_t>(copied, copy.size())));
  }
  if (!in.ok()) return std::nullopt;
  return sample;
}

std::uint64_t time_of(const PerfRecord& record, const perf_event_attr& attributes) {
  if (record.type != PERF_RECORD_SAMPLE) return trailer_of(record, attributes).time_ns;
  if ((attributes.sample_type & PERF_SAMPLE_TIME) == 0) return 0;
  const auto before = static_cast<std::uint64_t>(
      std::popcount(attributes.sample_type & (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID)));
  Cursor in(record.body);
  in.skip(before * 8);
  return in.read<std::uint64_t>();
}

std::int32_t tid_of(const PerfRecord& record, const perf_event_attr& attributes) {
  return trailer_of(record, attributes).tid;
}

std::optional<PerfMapping> parse_mapping(const PerfRecord& record) {
  Cursor in(record.body);
  PerfMapping mapping;
  mapping.pid = in.read<std::int32_t>();
  in.skip(4);
  mapping.start = in.read<std::uint64_t>();
  mapping.size = in.read<std::uint64_t>();
  mapping.offset = in.read<std::uint64_t>();
  if (record.type == PERF_RECORD_MMAP2) {
    if ((record.misc & kMappingHasBuildId) != 0) {
      const auto size = in.read<std::uint8_t>();
      in.skip(3);
      mapping.build_id = in.read_bytes(20);
      if (size < mapping.build_id.size()) mapping.build_id = mapping.build_id.first(size);
    } else {
      mapping.major = in.read<std::uint32_t>();
      mapping.minor = in.read<std::uint32_t>();
      mapping.inode = in.read<std::uint64_t>();
      in.skip(8);
    }
    constexpr std::uint32_t kExecutable = 4;  // PROT_EXEC
    mapping.executable = (in.read<std::uint32_t>() & kExecutable) != 0;
    in.skip(4);
  } else {
    mapping.executable = (record.misc & PERF_RECORD_MISC_MMAP_DATA) == 0;
  }
  mapping.path = padded_text(in);
  if (!in.ok() || mapping.size > UINT64_MAX - mapping.start) return std::nullopt;
  return mapping;
}

std::optional<PerfName> parse_name(const PerfRecord& record) {
  Cursor in(record.body);
  PerfName name;
  name.pid = in.read<std::int32_t>();
  name.tid = in.read<std::int32_t>();
  name.name = padded_text(in);
  name.by_exec = (record.misc & PERF_RECORD_MISC_COMM_EXEC) != 0;
  if (!in.ok()) return std::nullopt;
  return name;
}

std::optional<PerfTask> parse_task(const PerfRecord& record) {
  Cursor in(record.body);
  PerfTask task;
  task.pid = in.read<std::int32_t>();
  task.parent_pid = in.read<std::int32_t>();
  task.tid = in.read<std::int32_t>();
  task.parent_tid = in.read<std::int32_t>();
  task.time_ns = in.read<std::uint64_t>();
  if (!in.ok()) return std::nullopt;
  return task;
}

}  // namespace fathom::formats
