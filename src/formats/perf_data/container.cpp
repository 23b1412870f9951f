#include "formats/perf_data/container.h"

#include <fmt/format.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <memory>

#include "base/cursor.h"

namespace fathom::formats {
namespace {

constexpr std::uint64_t kRecordHead = 8;
constexpr std::uint64_t kMostUnpacked = std::uint64_t{2} << 30;
constexpr std::uint64_t kUnpacked = std::uint64_t{1} << 62;  // marks a place
constexpr std::size_t kMostEvents = 65'536, kMostIds = 16u << 20, kMostText = 4096;

// tools/perf/util/header.h
enum Feature : std::uint32_t {
  kTracingData = 1,
  kBuildId = 2,
  kOsRelease = 4,
  kArch = 6,
  kCpus = 7,
  kCpuDescription = 8,
  kEventDescription = 12,
};
// tools/lib/perf/include/perf/event.h: what perf itself writes between the records of the kernel.
enum OwnRecord : std::uint32_t {
  kFirstOwn = 64,
  kAttributes = 64,
  kTracing = 66,
  kBuildIdRecord = 67,
  kAuxTrace = 71,
  kEventUpdate = 78,
  kFeature = 80,
  kCompressed = 81,
  kCompressed2 = 83,
};

Cursor cursor_of(std::string_view bytes) {
  return Cursor(std::as_bytes(std::span(bytes.data(), bytes.size())));
}
std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
// Text in a field of fixed size.
std::string_view until_nul(std::string_view text) {
  return text.substr(0, text.find('\0'));
}
// A length and so many characters with zeros behind them.
std::string_view counted_text(Cursor& in) {
  const auto size = in.read<std::uint32_t>();
  return until_nul(in.read_chars(size)).substr(0, kMostText);
}

// Of any version: a shorter one ends in zeros, of a longer one only the first part is known.
perf_event_attr attributes_of(std::string_view bytes) {
  perf_event_attr attributes{};
  if (!bytes.empty()) std::memcpy(&attributes, bytes.data(), std::min(bytes.size(), sizeof attributes));
  return attributes;
}

}  // namespace

// All packed records are one stream.
struct PerfContainer::Unpacker {
  std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context{ZSTD_createDCtx(), &ZSTD_freeDCtx};
};

std::string_view PerfContainer::part(std::uint64_t at, std::uint64_t size) const {
  if (at > content_.size()) return {};
  return content_.substr(static_cast<std::size_t>(at),
                         static_cast<std::size_t>(std::min(size, std::uint64_t{content_.size()} - at)));
}

Result<PerfContainer> PerfContainer::of(std::string_view content, const std::string& name) {
  PerfContainer container(content, name);
  if (const Result<> read = container.read_head(); !read) return tl::unexpected(read.error());
  return container;
}

Result<> PerfContainer::read_head() {
  Cursor in = cursor_of(content_);
  in.skip(8);  // who calls has looked at the magic number
  const auto head_size = in.read<std::uint64_t>();
  if (head_size == 16) {  // through a pipe: records are all that follows
    data_ = 16;
    data_size_ = content_.size() - std::min<std::size_t>(content_.size(), 16);
    return {};
  }
  const auto attribute_size = in.read<std::uint64_t>();
  const auto attributes_at = in.read<std::uint64_t>(), attributes_size = in.read<std::uint64_t>();
  data_ = in.read<std::uint64_t>();
  data_size_ = in.read<std::uint64_t>();
  in.skip(16);  // names of events, of old versions
  std::array<std::uint64_t, 4> features{};
  for (std::uint64_t& bits : features) bits = in.read<std::uint64_t>();
  if (!in.ok() || head_size < 104 || attribute_size < 64 + 16 || attribute_size > 4096)
    return fail(ErrorKind::kMalformed, fmt::format("{}: perf.data with a damaged head", name_),
                "perf record -o FILE, and the whole of that file");
  read_events(attributes_at, attributes_size, attribute_size);
  if (events.empty())
    return fail(ErrorKind::kMalformed, fmt::format("{}: perf.data without an event", name_));
  // A recording that was killed has no size, and nothing behind it.
  const std::uint64_t there = content_.size() - std::min<std::uint64_t>(data_, content_.size());
  if (data_size_ == 0 || data_size_ > there) {
    whole = false;
    data_size_ = there;
  } else {
    read_features(data_ + data_size_, features);
  }
  return {};
}

void PerfContainer::read_events(std::uint64_t at, std::uint64_t size, std::uint64_t row_size) {
  Cursor rows = cursor_of(part(at, size));
  while (rows.remaining() >= row_size && events.size() < kMostEvents) {
    Cursor row = rows.sub(row_size);
    const perf_event_attr attributes = attributes_of(row.read_chars(row_size - 16));
    const auto ids_at = row.read<std::uint64_t>(), ids_size = row.read<std::uint64_t>();
    const std::string_view ids = part(ids_at, ids_size);
    add_event(attributes, std::as_bytes(std::span(ids.data(), ids.size())));
  }
}

void PerfContainer::add_event(const perf_event_attr& attributes, std::span<const std::byte> ids) {
  if (events.size() >= kMostEvents) return;
  const auto row = static_cast<std::uint32_t>(events.size());
  events.push_back({attributes, {}});
  Cursor in(ids);
  while (in.remaining() >= 8 && event_by_id_.size() < kMostIds)
    event_by_id_.emplace(in.read<std::uint64_t>(), row);
}

void PerfContainer::read_features(std::uint64_t at, std::span<const std::uint64_t> bits) {
  std::uint32_t count = 0;
  for (std::uint32_t feature = 0; feature < bits.size() * 64; ++feature) {
    if ((bits[feature / 64] >> feature % 64 & 1) == 0) continue;
    Cursor row = cursor_of(part(at + std::uint64_t{count++} * 16, 16));
    const auto from = row.read<std::uint64_t>(), size = row.read<std::uint64_t>();
    if (row.ok()) read_feature(feature, part(from, size));
  }
}

void PerfContainer::read_feature(std::uint32_t feature, std::string_view bytes) {
  Cursor in = cursor_of(bytes);
  switch (feature) {
    case kTracingData:
      tracing = bytes;
      break;
    case kBuildId:
      read_build_ids(bytes);
      break;
    case kOsRelease:
      origin.kernel = counted_text(in);
      break;
    case kCpuDescription:
      origin.cpu = counted_text(in);
      break;
    case kCpus:
      in.skip(4);  // those that could be online
      origin.cpus = in.read<std::uint32_t>();
      break;
    case kEventDescription:
      read_event_names(bytes);
      break;
    default:  // whose machine it was, the command line with its secrets, programs of others
      break;
  }
}

void PerfContainer::read_event_names(std::string_view bytes) {
  Cursor in = cursor_of(bytes);
  const auto count = in.read<std::uint32_t>(), attribute_size = in.read<std::uint32_t>();
  for (std::uint32_t i = 0; i < count && in.ok() && i < kMostEvents; ++i) {
    const perf_event_attr attributes = attributes_of(in.read_chars(attribute_size));
    const auto ids = in.read<std::uint32_t>();
    const std::string_view name = counted_text(in);
    Cursor numbers = in.sub(std::uint64_t{ids} * 8);
    if (!in.ok()) return;
    // In the order of the events; by a number where there is one, because groups are in another order.
    std::uint32_t row = i;
    if (ids != 0) {
      const auto known = event_by_id_.find(numbers.read<std::uint64_t>());
      if (known != event_by_id_.end()) row = known->second;
    }
    if (row < events.size() && events[row].attributes.config == attributes.config)
      events[row].name = std::string(name);
  }
}

void PerfContainer::read_build_ids(std::string_view bytes) {
  constexpr std::uint16_t kHasSize = 1 << 15;
  constexpr std::size_t kIdSize = 20;
  Cursor in = cursor_of(bytes);
  while (in.remaining() > kRecordHead) {
    in.skip(4);
    const auto misc = in.read<std::uint16_t>(), size = in.read<std::uint16_t>();
    if (size < kRecordHead + 4 + 24) return;
    Cursor row = in.sub(size - kRecordHead);
    row.skip(4);  // pid
    const auto id = row.read_bytes(kIdSize);
    auto id_size = static_cast<std::size_t>(row.read<std::uint8_t>());
    row.skip(3);
    const std::string_view path = until_nul(row.read_chars(row.remaining()));
    if (!row.ok()) return;
    if ((misc & kHasSize) == 0 || id_size > kIdSize) id_size = kIdSize;
    std::string hex;
    for (const std::byte byte : id.first(id_size)) hex += fmt::format("{:02x}", std::to_integer<int>(byte));
    if (hex.find_first_not_of('0') != std::string::npos && build_ids.size() < kMostEvents)
      build_ids.emplace(path, hex);
  }
}

std::uint64_t PerfContainer::take_own_record(std::uint32_t type, std::string_view body,
                                             std::string_view behind) {
  Cursor in = cursor_of(body);
  switch (type) {
    case kAttributes: {
      if (body.size() < 8) return 0;
      const std::uint64_t size = attributes_of(body).size;
      if (size < 64 || size > body.size()) return 0;
      const std::string_view ids = body.substr(static_cast<std::size_t>(size));
      add_event(attributes_of(body.substr(0, static_cast<std::size_t>(size))),
                std::as_bytes(std::span(ids.data(), ids.size())));
      return 0;
    }
    case kTracing: {
      const std::uint64_t size = in.read<std::uint32_t>();
      tracing = behind.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(size, behind.size())));
      return (size + 7) / 8 * 8;
    }
    case kAuxTrace:  // of a processor's tracer: nothing is made of it
      return in.read<std::uint64_t>();
    case kBuildIdRecord: {
      // As in the feature, where the head is a part of it.
      std::string row(kRecordHead, '\0');
      const auto size = static_cast<std::uint16_t>(std::min<std::size_t>(body.size() + kRecordHead, 65'535));
      std::memcpy(row.data() + 6, &size, sizeof size);
      read_build_ids(row.append(body));
      return 0;
    }
    case kEventUpdate: {
      constexpr std::uint64_t kName = 2;
      const auto what = in.read<std::uint64_t>(), id = in.read<std::uint64_t>();
      const auto event = event_by_id_.find(id);
      if (what == kName && event != event_by_id_.end())
        events[event->second].name = until_nul(in.read_chars(in.remaining())).substr(0, kMostText);
      return 0;
    }
    case kFeature: {
      const auto feature = in.read<std::uint64_t>();
      if (feature < 256 && in.ok()) read_feature(static_cast<std::uint32_t>(feature), text_of(in.rest()));
      return 0;
    }
    default:
      return 0;
  }
}

Result<> PerfContainer::unpack(std::string_view packed) {
  const auto refuse = [&](std::string_view what) {
    return fail(ErrorKind::kMalformed, fmt::format("{}: packed records of perf.data {}", name_, what));
  };
  if (unpacker_ == nullptr) unpacker_ = std::make_shared<Unpacker>();
  if (unpacker_->context == nullptr) return refuse("cannot be unpacked: zstd failed");
  std::array<char, 1 << 17> piece;
  ZSTD_inBuffer in{packed.data(), packed.size(), 0};
  for (;;) {
    ZSTD_outBuffer out{piece.data(), piece.size(), 0};
    const std::size_t left = ZSTD_decompressStream(unpacker_->context.get(), &out, &in);
    if (ZSTD_isError(left) != 0) return refuse("are damaged");
    if (unpacked_.size() + out.pos > kMostUnpacked)
      return fail(ErrorKind::kUnsupported,
                  fmt::format("{}: more than {} MiB are packed in it", name_, kMostUnpacked >> 20));
    unpacked_.append(piece.data(), out.pos);
    if (in.pos == in.size && out.pos < out.size) return {};
  }
}

Result<> PerfContainer::visit_records(const Visit& visit) {
  const std::string_view data = part(data_, data_size_);
  std::uint64_t at = 0, unpacked_at = 0;
  const auto head_of = [](std::string_view bytes) {
    Cursor in = cursor_of(bytes);
    PerfRecord record;
    record.type = in.read<std::uint32_t>();
    record.misc = in.read<std::uint16_t>();
    return std::pair(record, in.read<std::uint16_t>());
  };
  const auto visit_unpacked = [&] {
    while (unpacked_.size() - unpacked_at >= kRecordHead) {
      const auto [head, size] =
          head_of(std::string_view(unpacked_).substr(static_cast<std::size_t>(unpacked_at)));
      if (size < kRecordHead) return false;
      if (size > unpacked_.size() - unpacked_at) break;  // its rest is in the next one
      if (head.type < kFirstOwn) {
        const PerfPlace place{kUnpacked | unpacked_at};
        visit(record_at(place), place);
      }
      unpacked_at += size;
    }
    return true;
  };
  while (data.size() - at >= kRecordHead) {
    const auto [head, size] = head_of(data.substr(static_cast<std::size_t>(at)));
    // Zeros are what a killed recorder leaves behind.
    if (size < kRecordHead || size > data.size() - at) {
      whole = false;
      break;
    }
    const std::string_view body = data.substr(static_cast<std::size_t>(at + kRecordHead), size - kRecordHead);
    at += size;
    if (head.type < kFirstOwn) {
      const PerfPlace place{at - size};
      visit(record_at(place), place);
    } else if (head.type == kCompressed || head.type == kCompressed2) {
      std::string_view packed = body;
      if (head.type == kCompressed2) {  // with its size, as it is padded
        Cursor in = cursor_of(body);
        packed = in.read_chars(in.read<std::uint64_t>());
      }
      if (const Result<> unpacked = unpack(packed); !unpacked) return unpacked;
      if (!visit_unpacked())
        return fail(ErrorKind::kMalformed,
                    fmt::format("{}: packed records of perf.data make no sense", name_));
    } else {
      const std::uint64_t behind =
          take_own_record(head.type, body, data.substr(static_cast<std::size_t>(at)));
      if (behind > data.size() - at) {
        whole = false;
        break;
      }
      at += behind;
    }
  }
  if (unpacked_at < unpacked_.size()) whole = false;
  if (events.empty())
    return fail(ErrorKind::kMalformed, fmt::format("{}: perf.data without an event", name_));
  return {};
}

PerfRecord PerfContainer::record_at(PerfPlace place) const {
  const bool packed = (place.value & kUnpacked) != 0;
  const std::string_view bytes =
      packed ? std::string_view(unpacked_).substr(static_cast<std::size_t>(place.value & ~kUnpacked))
             : part(data_ + place.value, data_size_ - place.value);
  Cursor in = cursor_of(bytes);
  PerfRecord record;
  record.type = in.read<std::uint32_t>();
  record.misc = in.read<std::uint16_t>();
  const auto size = in.read<std::uint16_t>();
  record.body = in.read_bytes(size < kRecordHead ? 0 : size - kRecordHead);
  return record;
}

const PerfEvent* PerfContainer::event_of(const PerfRecord& record) const {
  if (events.size() <= 1) return events.empty() ? nullptr : &events.front();
  const std::uint64_t type = events.front().attributes.sample_type;
  const bool is_sample = record.type == PERF_RECORD_SAMPLE;
  std::uint64_t at = 0;  // of the number, from the beginning of a sample, from the end of what is none
  if ((type & PERF_SAMPLE_IDENTIFIER) == 0) {
    // All events have the same fields then.
    if ((type & PERF_SAMPLE_ID) == 0) return &events.front();
    const auto size_of = [&](std::uint64_t fields) {
      return std::uint64_t{8} * static_cast<std::uint64_t>(std::popcount(type & fields));
    };
    at = is_sample ? size_of(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR)
                   : size_of(PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU);
  }
  if (record.body.size() < at + 8) return nullptr;
  Cursor in(is_sample ? record.body.subspan(static_cast<std::size_t>(at))
                      : record.body.subspan(static_cast<std::size_t>(record.body.size() - at - 8)));
  const auto id = in.read<std::uint64_t>();
  if (id == 0) return &events.front();  // written by perf, of no event
  const auto known = event_by_id_.find(id);
  return known == event_by_id_.end() ? nullptr : &events[known->second];
}

}  // namespace fathom::formats
