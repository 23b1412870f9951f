#include "record/heap/ring_reader.h"

#include <fmt/format.h>

namespace fathom::sources::heap {
namespace {

// What is copied out of a ring at once, on top of the longest record that may have been cut.
constexpr std::size_t kCopyBytes = 32 * 1024;
constexpr std::size_t kLongestRecord =
    sizeof(tracer_event_stack) + std::size_t{TRACER_MAX_FRAMES} * sizeof(std::uint64_t);

constexpr std::uint64_t kMostRings = UINT16_MAX;

// Rounds that a record may lie ahead of the cut. An honest one is in the past when it is seen, so the next
// round takes it.
constexpr std::uint32_t kMostRoundsAhead = 4;

template <class T>
T load_acquire(const T& value) {
  return __atomic_load_n(&value, __ATOMIC_ACQUIRE);
}

tl::unexpected<Error> bad(std::string what) {
  return fail(ErrorKind::kMalformed, "shared memory of the heap tracer: " + what);
}

template <class Record>
Record copied(const std::byte* from) {
  Record record;
  std::memcpy(&record, from, sizeof(record));
  return record;
}

}  // namespace

Result<RingReader> RingReader::open(const tracer_shared& layout, std::span<std::byte> memory) {
  if (memory.size() < sizeof(tracer_shared)) return bad("it is cut short");
  if (reinterpret_cast<std::uintptr_t>(memory.data()) % alignof(tracer_shared) != 0)
    return bad("it is not aligned");
  if (layout.magic != TRACER_MAGIC) return bad("it has another mark");
  if (layout.version != TRACER_VERSION || layout.header_bytes != sizeof(tracer_shared))
    return bad(fmt::format("version {} where {} is known", layout.version, TRACER_VERSION));
  const std::uint64_t bytes = layout.ring_bytes, stride = layout.ring_stride, count = layout.ring_count;
  if (bytes < kLongestRecord || (bytes & (bytes - 1)) != 0 || stride % 8 != 0 ||
      stride < TRACER_RING_DATA + bytes)
    return bad(fmt::format("rings of {} bytes, {} apart", bytes, stride));
  if (layout.rings_offset % 8 != 0 || layout.rings_offset > memory.size() || count > kMostRings ||
      count > (memory.size() - layout.rings_offset) / stride)
    return bad(fmt::format("{} rings do not fit into it", count));
  RingReader reader;
  reader.ring_bytes_ = bytes;
  reader.rings_.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    std::byte* at = memory.data() + layout.rings_offset + i * stride;
    reader.rings_[i].shared = reinterpret_cast<tracer_ring*>(at);
    reader.rings_[i].data = at + TRACER_RING_DATA;
    reader.rings_[i].tail = load_acquire(reader.rings_[i].shared->tail);
  }
  reader.rings_taken_ = &reinterpret_cast<const tracer_shared*>(memory.data())->rings_taken;
  reader.find_rings_in_use();
  return reader;
}

void RingReader::find_rings_in_use() {
  rings_taken_before_ = load_acquire(*rings_taken_);
  in_use_.clear();
  for (std::uint32_t index = 0; index < rings_.size(); ++index) {
    const Ring& ring = rings_[index];
    if (load_acquire(ring.shared->owner) != 0 || ring.at != ring.end ||
        load_acquire(ring.shared->head) != ring.tail)
      in_use_.push_back(index);
  }
}

bool RingReader::begin(std::uint64_t cut) {
  bool hurry = false;
  order_.clear();
  // A ring is counted before anything is written to it, so what was stamped before the cut is in one of
  // these.
  if (load_acquire(*rings_taken_) != rings_taken_before_) find_rings_in_use();
  for (const std::uint32_t index : in_use_) {
    Ring& ring = rings_[index];
    if (ring.bad) continue;
    const std::uint64_t head = load_acquire(ring.shared->head);
    if (head - ring.tail > ring_bytes_ || head % 8 != 0 || head < ring.head) {
      give_up(ring);
      continue;
    }
    ring.head = head;
    hurry = hurry || head - ring.tail > ring_bytes_ / 4;
    if (!ready(ring)) continue;
    if (ring.ticks <= cut) {
      ring.ahead = 0;
      order_.push_back({ring.ticks, index});
    } else if (++ring.ahead > kMostRoundsAhead) {
      give_up(ring);
    }
  }
  std::make_heap(order_.begin(), order_.end(), later);
  return hurry;
}

// Takes more out of the ring, until at least `wanted` bytes are there; false: there is nothing more, or not
// enough, which makes no sense.
bool RingReader::refill(Ring& ring, std::size_t wanted) {
  const std::size_t left = ring.end - ring.at;
  const std::uint64_t there = ring.head - ring.tail;
  if (there == 0 && left == 0) return false;
  if (there + left < wanted) return give_up(ring);
  if (ring.copy.empty()) ring.copy.resize(kCopyBytes + kLongestRecord);
  std::memmove(ring.copy.data(), ring.copy.data() + ring.at, left);
  ring.at = 0;
  const auto taken = static_cast<std::size_t>(std::min<std::uint64_t>(there, ring.copy.size() - left));
  const auto start = static_cast<std::size_t>(ring.tail & (ring_bytes_ - 1));
  const std::size_t straight = std::min<std::size_t>(taken, ring_bytes_ - start);
  std::memcpy(ring.copy.data() + left, ring.data + start, straight);
  std::memcpy(ring.copy.data() + left + straight, ring.data, taken - straight);
  ring.end = left + taken;
  ring.tail += taken;
  taken_bytes_ += taken;
  // There is room again, before a single record has been looked at.
  __atomic_store_n(&ring.shared->tail, ring.tail, __ATOMIC_RELEASE);
  return true;
}

bool RingReader::give_up(Ring& ring) {
  ring.bad = true;
  ring.peeked = false;
  ring.at = ring.end = 0;
  ring.copy = {};
  ++given_up_;
  return false;
}

bool RingReader::decode(Ring& ring, TracerEvent& event) {
  const std::uint32_t kind = TRACER_KIND(ring.first);
  static constexpr std::size_t kSizes[] = {
      0,
      sizeof(tracer_event_thread),
      sizeof(tracer_event_stack),
      sizeof(tracer_event_alloc),
      sizeof(tracer_event_sample),
      sizeof(tracer_event_free),
      sizeof(tracer_event_realloc),
      sizeof(tracer_event_alloc),
      sizeof(tracer_event_free_sized),
  };
  if (kind == 0 || kind >= std::size(kSizes)) return give_up(ring);
  std::size_t size = kSizes[kind];
  const auto there = [&](std::size_t wanted) { return ring.end - ring.at >= wanted || refill(ring, wanted); };
  if (!there(size)) return ring.bad ? false : give_up(ring);
  const std::byte* from = ring.copy.data() + ring.at;

  event.kind = static_cast<std::uint8_t>(kind);
  event.ticks = ring.ticks;
  std::uint32_t short_size = 0;
  switch (kind) {
    case TRACER_EVENT_THREAD:
      ring.tid = static_cast<std::uint32_t>(copied<tracer_event_thread>(from).tid);
      break;
    case TRACER_EVENT_STACK: {
      const auto record = copied<tracer_event_stack>(from);
      if (record.count > TRACER_MAX_FRAMES) return give_up(ring);
      size += std::size_t{record.count} * sizeof(std::uint64_t);
      if (!there(size)) return ring.bad ? false : give_up(ring);
      event.stack = record.stack;
      event.count = record.count;
      event.end = record.end;
      event.addresses = ring.copy.data() + ring.at + sizeof(record);
      break;
    }
    case TRACER_EVENT_ALLOC:
    case TRACER_EVENT_RESIZE: {
      const auto record = copied<tracer_event_alloc>(from);
      event.block = record.block;
      event.stack = record.stack;
      event.size = short_size = record.size;
      break;
    }
    case TRACER_EVENT_SAMPLE: {
      const auto record = copied<tracer_event_sample>(from);
      event.block = record.block;
      event.size = record.size;
      event.stack = record.stack;
      event.mean = record.mean;
      break;
    }
    case TRACER_EVENT_FREE:
      event.block = copied<tracer_event_free>(from).block;
      break;
    case TRACER_EVENT_FREE_SIZED: {
      const auto record = copied<tracer_event_free_sized>(from);
      event.block = record.block;
      event.size = record.size;
      break;
    }
    default: {
      const auto record = copied<tracer_event_realloc>(from);
      event.block = record.new_block;
      event.old_block = record.old_block;
      event.ticks_before = record.ticks_before;
      event.stack = record.stack;
      event.size = short_size = record.size;
      break;
    }
  }
  if (short_size == UINT32_MAX) {
    if (!there(size + sizeof(std::uint64_t))) return ring.bad ? false : give_up(ring);
    std::memcpy(&event.size, ring.copy.data() + ring.at + size, sizeof(event.size));
    size += sizeof(event.size);
  }
  event.tid = ring.tid;
  ring.at += size;
  ring.peeked = false;
  return true;
}

std::uint32_t RingReader::release(const std::function<bool(std::int32_t tid)>& lives) {
  std::uint32_t released = 0;
  for (Ring& ring : rings_) {
    std::uint32_t owner = load_acquire(ring.shared->owner);
    if (owner & TRACER_MADE_UP) continue;  // whether that thread lives is unknown
    if (ring.bad || owner == 0 || ring.at != ring.end || load_acquire(ring.shared->head) != ring.tail)
      continue;
    if (lives(static_cast<std::int32_t>(owner))) continue;
    // A thread that has the same control block may have taken it meanwhile; then it is not given back.
    if (!__atomic_compare_exchange_n(&ring.shared->owner, &owner, 0, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED))
      continue;
    ring.copy = {};
    ring.at = ring.end = 0;
    ++released;
  }
  if (released != 0) find_rings_in_use();
  return released;
}

std::uint64_t RingReader::left_bytes() const {
  std::uint64_t bytes = 0;
  for (const Ring& ring : rings_)
    if (!ring.bad)
      bytes += std::min(load_acquire(ring.shared->head) - ring.tail, ring_bytes_) + (ring.end - ring.at);
  return bytes;
}

// By the length of those that were decoded: to decode the others would be the work that there is no time for.
std::uint64_t RingReader::left_events() const {
  std::uint64_t decoded = taken_bytes_;
  for (const Ring& ring : rings_) decoded -= ring.end - ring.at;
  const std::uint64_t each = taken_events_ == 0 ? 0 : decoded / taken_events_;
  return left_bytes() / std::max<std::uint64_t>(each, sizeof(tracer_event_free));
}

std::uint64_t RingReader::lost() const {
  std::uint64_t sum = 0;
  for (const Ring& ring : rings_) sum += load_acquire(ring.shared->lost);
  return sum;
}

std::uint64_t RingReader::waited() const {
  std::uint64_t sum = 0;
  for (const Ring& ring : rings_) sum += load_acquire(ring.shared->waited);
  return sum;
}

}  // namespace fathom::sources::heap
