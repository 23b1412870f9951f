#include "attach/tracer/testing_target.h"

#include <elf.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#include "attach/tracer/tracer_image.h"
#include "base/arch/ticks.h"
#include "base/clock.h"
#include "base/fd.h"
#include "binary/elf/module_file.h"
#include "binary/unwind/table.h"
#include "linux/process/maps.h"

namespace fathom::tracer::testing {
namespace {

std::uint64_t page_down(std::uint64_t value) {
  return value & ~std::uint64_t{0xfff};
}
std::uint64_t page_up(std::uint64_t value) {
  return page_down(value + 0xfff);
}

// All tables joined into one array each, as the profiler publishes them.
struct JoinedTables {
  std::vector<unwind_mapping> mappings;
  std::vector<unwind_page> pages;
  std::vector<unwind_row> rows;
  std::vector<unwind_rule> rules;
};

const JoinedTables& own_tables() {
  static const JoinedTables tables = [] {
    JoinedTables joined;
    std::map<const unwind::Table*, std::uint32_t> first_pages;
    const auto& space = own_address_space();
    for (std::size_t i = 0; i < space.mappings().size(); ++i) {
      unwind_mapping mapping = space.mappings()[i];
      const unwind::Table* table = space.table(i);
      if (table != nullptr && mapping.page_count != 0) {
        const auto [at, is_new] =
            first_pages.try_emplace(table, static_cast<std::uint32_t>(joined.pages.size()));
        if (is_new) {
          const auto row = joined.rows.size(), rule = joined.rules.size();
          for (const unwind_page page : table->pages)
            joined.pages.push_back(page + row + (static_cast<std::uint64_t>(row) << 32));
          for (const unwind_row each : table->rows)
            joined.rows.push_back(UNWIND_ROW(UNWIND_ROW_ADDRESS(each), UNWIND_ROW_RULE(each) + rule));
          joined.rules.insert(joined.rules.end(), table->rules.begin(), table->rules.end());
        }
        mapping.first_page = at->second;
      }
      joined.mappings.push_back(mapping);
    }
    if (joined.rules.size() > UNWIND_MAX_RULES) throw std::runtime_error("too many rules");
    return joined;
  }();
  return tables;
}

Mapping map(std::size_t bytes, int protection, int flags, int fd) {
  void* address = mmap(nullptr, bytes, protection, flags, fd, 0);
  if (address == MAP_FAILED) throw std::runtime_error("mmap");
  return {address, bytes};
}

// Of the id in the thread control block: found in this thread's own.
std::uint32_t tid_offset() {
  const auto* block = reinterpret_cast<const std::uint32_t*>(pthread_self());
  for (std::uint32_t i = 0; i < 512; ++i)
    if (block[i] == static_cast<std::uint32_t>(gettid())) return i * 4;
  throw std::runtime_error("no thread id in the control block");
}

template <class T>
std::uint64_t place(std::uint64_t& at, const std::vector<T>& what, std::uint32_t& count) {
  at = (at + 63) & ~std::uint64_t{63};
  const std::uint64_t offset = at;
  count = static_cast<std::uint32_t>(what.size());
  at += what.size() * sizeof(T);
  return offset;
}

Event parse(std::uint32_t ring, std::span<const std::uint64_t> words) {
  Event event;
  event.ring = ring;
  event.kind = static_cast<tracer_event_kind>(TRACER_KIND(words[0]));
  event.ticks = TRACER_TICKS(words[0]);
  const auto take_block = [&](std::uint64_t word) {
    event.block = TRACER_BLOCK_ADDRESS(word);
    event.allocator = TRACER_BLOCK_ALLOCATOR(word);
  };
  const auto take_size = [&](std::size_t at) {
    event.size = words[at] & 0xffffffff;
    event.stack = static_cast<std::uint32_t>(words[at] >> 32);
    if (event.size == 0xffffffff) event.size = words[at + 1];
  };
  switch (event.kind) {
    case TRACER_EVENT_THREAD:
      event.tid = words[1];
      break;
    case TRACER_EVENT_STACK:
      event.stack = static_cast<std::uint32_t>(words[1]);
      event.end = words[1] >> 48 & 0xff;
      event.frames.assign(words.begin() + 2, words.end());
      break;
    case TRACER_EVENT_ALLOC:
    case TRACER_EVENT_RESIZE:
      take_block(words[1]);
      take_size(2);
      break;
    case TRACER_EVENT_SAMPLE:
      take_block(words[1]);
      event.size = words[2];
      event.stack = static_cast<std::uint32_t>(words[3]);
      event.mean = static_cast<std::uint32_t>(words[3] >> 32);
      break;
    case TRACER_EVENT_FREE:
      take_block(words[1]);
      break;
    case TRACER_EVENT_FREE_SIZED:
      take_block(words[1]);
      event.size = words[2];
      break;
    case TRACER_EVENT_REALLOC:
      take_block(words[3]);
      event.allocator = TRACER_BLOCK_ALLOCATOR(words[1]);
      event.old_block = TRACER_BLOCK_ADDRESS(words[1]);
      event.ticks_before = words[2];
      take_size(4);
      break;
  }
  return event;
}

// Words of the record that starts with `first`; `word` gives the others, as far as they are needed.
template <class Word>
std::size_t length(std::uint64_t first, Word word) {
  switch (TRACER_KIND(first)) {
    case TRACER_EVENT_THREAD:
    case TRACER_EVENT_FREE:
      return 2;
    case TRACER_EVENT_STACK:
      return 2 + (word(1) >> 32 & 0xffff);
    case TRACER_EVENT_ALLOC:
    case TRACER_EVENT_RESIZE:
      return (word(2) & 0xffffffff) == 0xffffffff ? 4 : 3;
    case TRACER_EVENT_FREE_SIZED:
      return 3;
    case TRACER_EVENT_SAMPLE:
      return 4;
    case TRACER_EVENT_REALLOC:
      return (word(4) & 0xffffffff) == 0xffffffff ? 6 : 5;
    default:
      throw std::runtime_error("a record of unknown kind");
  }
}

}  // namespace

const unwind::AddressSpace& own_address_space() {
  static const unwind::AddressSpace space = [] {
    unwind::AddressSpace built;
    std::map<std::string, std::shared_ptr<const unwind::Table>> tables;
    const auto maps = process::read_maps(getpid());
    if (!maps) throw std::runtime_error(maps.error().message);
    for (const process::MapEntry& entry : *maps) {
      if (!entry.executable || !entry.is_file() || entry.path.front() != '/') continue;
      const auto file = elf::ModuleFile::open(entry.path);
      if (!file) continue;
      auto& table = tables[entry.path];
      if (!table) table = std::make_shared<unwind::Table>(unwind::build_table(file->elf()).value());
      for (const elf::Segment& segment : file->elf().segments())
        if (segment.type == PT_LOAD && (segment.flags & PF_X) != 0 &&
            page_down(segment.offset.value) == entry.offset.value)
          built.add(entry.start, entry.end, entry.start.value - page_down(segment.address.value), table);
    }
    return built;
  }();
  return space;
}

tracer_clock default_clock() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe)
  return std::getenv("FATHOM_HIDE_TSC") == nullptr ? TRACER_CLOCK_COUNTER : TRACER_CLOCK_SEQUENCE;
}

std::uint64_t now_ticks() {
  return arch::read_ticks();
}

std::uint64_t ticks_per_ms() {
  static const std::uint64_t rate = [] {
    const auto start = std::chrono::steady_clock::now();
    const std::uint64_t ticks = now_ticks();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const std::uint64_t gone = now_ticks() - ticks;
    const std::chrono::duration<double, std::milli> ms = std::chrono::steady_clock::now() - start;
    return static_cast<std::uint64_t>(static_cast<double>(gone) / ms.count());
  }();
  return rate;
}

std::uint64_t end_of_mapping(std::uint64_t address) {
  const auto maps = process::read_maps(getpid());
  if (!maps) throw std::runtime_error(maps.error().message);
  for (const process::MapEntry& entry : *maps)
    if (address >= entry.start.value && address < entry.end.value) return entry.end.value;
  return 0;
}

Target::Target(const TargetOptions& options) {
  const auto bytes = image();
  const Fd fd(memfd_create("tracer_image", MFD_CLOEXEC));
  if (write(fd.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
    throw std::runtime_error("memfd");
  text_ = map(bytes.size(), PROT_READ | PROT_EXEC, MAP_SHARED, fd.get());
  writable_ = map(bytes.size(), PROT_READ | PROT_WRITE, MAP_SHARED, fd.get());
  config_offset_ = image_header().config_offset;
  state_ = map(image_header().state_bytes, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
  if (madvise(state_.data(), state_.size(), MADV_WIPEONFORK) != 0) throw std::runtime_error("madvise");

  static const JoinedTables no_tables;
  const JoinedTables& tables = options.tables ? own_tables() : no_tables;
  tracer_shared head{};
  std::uint64_t at = sizeof head;
  head.mappings_offset = place(at, tables.mappings, head.mappings_count);
  head.pages_offset = place(at, tables.pages, head.pages_count);
  head.rows_offset = place(at, tables.rows, head.rows_count);
  head.rules_offset = place(at, tables.rules, head.rules_count);
  head.rings_offset = page_up(at);
  head.ring_count = options.ring_count;
  head.ring_bytes = options.ring_bytes;
  head.ring_stride = TRACER_RING_DATA + static_cast<std::uint32_t>(page_up(options.ring_bytes));
  head.bytes = head.rings_offset + std::uint64_t{head.ring_count} * head.ring_stride;
  head.magic = TRACER_MAGIC;
  head.version = TRACER_VERSION;
  head.header_bytes = sizeof head;
  head.target_pid = getpid();
  head.mode = static_cast<u32>(options.mode);
  head.mean = options.mean;
  head.tsc_base = now_ticks();
  head.sequence_base_ns = monotonic_ns();
  head.clock = options.clock;
  head.sleep_ticks = static_cast<u32>(ticks_per_ms() * TRACER_SLEEP_NS / 1'000'000);
  head.heartbeat_limit = 60'000 * ticks_per_ms();
  head.wait_limit = options.wait_ms * ticks_per_ms();
  head.may_call_kernel = options.may_call_kernel ? 1 : 0;
  head.tid_offset = options.tid_known ? tid_offset() : 0;
  head.mapping_run = std::uint64_t{head.mappings_count} << 32;
  head.table_epoch = 1;
  const auto maps = process::read_maps(getpid());
  for (const process::MapEntry& entry : *maps) {
    if (entry.path != "[stack]") continue;
    head.main_stack_start = entry.start.value;
    head.main_stack_end = entry.end.value;
  }
  shared_ = map(page_up(head.bytes), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1);
  if (madvise(shared_.data(), shared_.size(), MADV_DONTFORK) != 0) throw std::runtime_error("madvise");
  auto* memory = static_cast<std::byte*>(shared_.data());
  const auto copy = [&](std::uint64_t offset, const auto& what) {
    if (!what.empty()) std::memcpy(memory + offset, what.data(), what.size() * sizeof(what[0]));
  };
  std::memcpy(memory, &head, sizeof head);
  copy(head.mappings_offset, tables.mappings);
  copy(head.pages_offset, tables.pages);
  copy(head.rows_offset, tables.rows);
  copy(head.rules_offset, tables.rules);
  beat();

  static_cast<tracer_state_head*>(state_.data())->shared = reinterpret_cast<std::uint64_t>(memory);
  config().shared = reinterpret_cast<std::uint64_t>(memory);
  config().state = reinterpret_cast<std::uint64_t>(state_.data());
}

Target::~Target() = default;

std::uint64_t Target::entry(tracer_shape shape, unsigned index) const {
  return reinterpret_cast<std::uint64_t>(text_.data()) + image_header().hook_offset[shape][index];
}

tracer_config& Target::config() {
  return *reinterpret_cast<tracer_config*>(static_cast<std::byte*>(writable_.data()) + config_offset_);
}

tracer_ring& Target::ring(std::uint32_t index) {
  return *reinterpret_cast<tracer_ring*>(static_cast<std::byte*>(shared_.data()) + shared().rings_offset +
                                         std::uint64_t{index} * shared().ring_stride);
}

void Target::set_mode(tracer_mode mode) {
  __atomic_store_n(&shared().mode, static_cast<u32>(mode), __ATOMIC_RELEASE);
}

void Target::beat() {
  __atomic_store_n(&shared().heartbeat, now_stamp(), __ATOMIC_RELEASE);
}

std::uint64_t Target::now_stamp() {
  if (shared().clock == TRACER_CLOCK_COUNTER) return now_ticks() - shared().tsc_base;
  const std::uint64_t ns = monotonic_ns() - shared().sequence_base_ns;
  u64 now = __atomic_load_n(&shared().sequence, __ATOMIC_ACQUIRE);
  while (now < ns && !__atomic_compare_exchange_n(&shared().sequence, &now, ns, false, __ATOMIC_ACQ_REL,
                                                  __ATOMIC_ACQUIRE))
    continue;
  return std::max<std::uint64_t>(now, ns);
}

std::uint64_t Target::drain_raw(
    const std::function<void(std::uint32_t ring, std::span<const std::uint64_t>)>& each) {
  std::uint64_t records = 0;
  std::vector<std::uint64_t> words;
  for (std::uint32_t i = 0; i < shared().ring_count; ++i) {
    tracer_ring& from = ring(i);
    const auto* data = reinterpret_cast<const std::byte*>(&from) + TRACER_RING_DATA;
    const std::uint64_t head = __atomic_load_n(&from.head, __ATOMIC_ACQUIRE);
    std::uint64_t tail = from.tail;
    const auto word = [&](std::size_t index) {
      std::uint64_t value = 0;
      std::memcpy(&value, data + ((tail + index * 8) & (shared().ring_bytes - 1)), 8);
      return value;
    };
    while (tail != head) {
      const std::size_t count = length(word(0), word);
      if (tail + count * 8 > head) throw std::runtime_error("a record reaches past the head");
      words.resize(count);
      for (std::size_t k = 0; k < count; ++k) words[k] = word(k);
      each(i, words);
      tail += count * 8;
      ++records;
    }
    __atomic_store_n(&from.tail, tail, __ATOMIC_RELEASE);
  }
  return records;
}

std::vector<Event> Target::drain() {
  std::vector<Event> events;
  drain_raw([&](std::uint32_t ring, std::span<const std::uint64_t> words) {
    events.push_back(parse(ring, words));
  });
  return events;
}

std::vector<Event> Target::drain_calls() {
  std::vector<Event> events = drain();
  std::erase_if(events, [](const Event& event) {
    return event.kind == TRACER_EVENT_THREAD || event.kind == TRACER_EVENT_STACK;
  });
  return events;
}

}  // namespace fathom::tracer::testing
