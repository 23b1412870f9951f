#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "base/text.h"
#include "formats/bytehound/bytehound.h"
#include "formats/bytehound/code.h"
#include "formats/bytehound/events.h"
#include "formats/bytehound/lz4_block.h"
#include "formats/heaptrack/heap_course.h"
#include "model/facts.h"

namespace fathom::formats {
namespace {

using bytehound::End;
using bytehound::Event;
using bytehound::Kind;

constexpr std::string_view kRemedy = "a file of bytehound, as it was written";
constexpr std::uint64_t kMicrosecond = 1000, kMostMicroseconds = std::uint64_t{1} << 50;
constexpr std::uint64_t kSlices = 200;
constexpr std::size_t kMostDepth = 512;

class Reader {
 public:
  Reader(std::string_view packed, const std::string& name) : packed_(packed), name_(name) {}

  Result<model::Profile> read() {
    if (!measure())
      return fail(ErrorKind::kMalformed, name_ + ": this does not begin with a header of bytehound",
                  std::string(kRemedy));
    bytehound::Events events(packed_);
    Event event;
    std::uint64_t count = 0;
    for (; events.next(event); ++count) {
      if (!take(event))
        return fail(ErrorKind::kMalformed,
                    fmt::format("{}: event {}: more was allocated than there is", name_, count + 1),
                    std::string(kRemedy));
    }
    say_end(events, count);
    return finish();
  }

 private:
  // One frame of the last backtrace of a thread, and the stack from the root to it.
  struct Step {
    model::StackId stack{0};
    model::StackId outside{0};  // the same without the tool's own frames at its end
  };

  // The length of a slice follows from the last time. False: no header.
  bool measure() {
    bytehound::Events events(packed_);
    Event event;
    if (!events.next(event) || event.kind != Kind::kHeader) return false;
    initial_us_ = event.initial_us;
    std::uint64_t last = initial_us_;
    while (events.next(event))
      last = std::max(last, std::min(event.time_us, initial_us_ + kMostMicroseconds));
    slice_ns_ = std::max<std::uint64_t>(1, (last - initial_us_) / kSlices) * kMicrosecond;
    return true;
  }

  void say_end(const bytehound::Events& events, std::uint64_t count) {
    switch (events.end()) {
      case End::kCut:
        return import_.note(
            fmt::format("The file ends within an event: it was cut short after {} events.", count));
      case End::kDamaged:
        return import_.note(
            fmt::format("After {} events the file is damaged: its other {} bytes (packed) are not read.",
                        count, events.packed_left()));
      case End::kUnknownKind:
        return import_.note(fmt::format(
            "After {} events there is one of kind {}, which is not known: the other {} bytes (packed) of the file are not read.",
            count, events.unknown_kind(), events.packed_left()));
      case End::kNone:
      case End::kWhole:
        return;
    }
  }

  bool take(const Event& event) {
    switch (event.kind) {
      case Kind::kHeader:
        take_header(event);
        return true;
      case Kind::kAlloc:
      case Kind::kAllocEx:
        tick(event.time_us);
        return allocate(event);
      case Kind::kRealloc:
      case Kind::kReallocEx:
        tick(event.time_us);
        free(key_of(event, event.old_pointer));
        return allocate(event);
      case Kind::kFree:
      case Kind::kFreeEx:
        tick(event.time_us);
        free(key_of(event, event.pointer));
        return true;
      case Kind::kFile:
      case Kind::kFile64:
        left_out_ += event.contents_left_out ? 1 : 0;
        if (event.path == "/proc/self/maps")
          code_.take_maps(event.contents);
        else
          code_.take_file(event.path, event.contents);
        return true;
      case Kind::kBacktrace:
      case Kind::kBacktrace32:
        whole_.clear();
        add_frames(whole_, event);
        traces_[event.id] = whole_.empty() ? model::StackId{0} : whole_.back().outside;
        return true;
      case Kind::kPartialBacktrace:
      case Kind::kPartialBacktrace32: {
        std::vector<Step>& last = last_of_threads_[event.thread];
        const bool all = event.frames_invalidated == bytehound::kAllFrames;
        last.resize(all ? 0 : last.size() - std::min<std::size_t>(last.size(), event.frames_invalidated));
        add_frames(last, event);
        traces_[event.id] = last.empty() ? model::StackId{0} : last.back().outside;
        return true;
      }
      case Kind::kString:
        texts_[static_cast<std::uint32_t>(event.id)] = event.path;
        return true;
      case Kind::kDecodedFrame:
        add_decoded_frame(event);
        return true;
      case Kind::kDecodedBacktrace:
        add_decoded_backtrace(event);
        return true;
      case Kind::kGroupStatistics:
        stripped_blocks_ += static_cast<double>(event.pointer);
        stripped_bytes_ += static_cast<double>(event.size);
        return true;
      case Kind::kMemoryMap:
      case Kind::kMemoryMapEx:
        ++mappings_;
        return true;
      case Kind::kAddRegion:
        code_.add_region(event);
        return true;
      case Kind::kRemoveRegion:
        code_.remove_region(event);
        return true;
      case Kind::kMemoryUnmap:
      case Kind::kMemoryDump:
      case Kind::kMarker:
      case Kind::kMallopt:
      case Kind::kEnviron:
      case Kind::kWallClock:
      case Kind::kUpdateRegionUsage:
        return true;
    }
    return true;
  }

  // Files that go on in another one repeat it.
  void take_header(const Event& event) {
    if (has_header_) return;
    has_header_ = true;
    std::string command = event.command;
    while (!command.empty() && command.back() == '\0') command.pop_back();
    std::ranges::replace(command, '\0', ' ');
    if (!command.empty()) model::put_facts(model::OriginFacts{.command = command}, import_.profile.meta);
    executable_ = event.executable.substr(0, event.executable.find('\0'));
    pid_ = event.pid <= INT32_MAX ? static_cast<std::int32_t>(event.pid) : 0;
    constexpr std::uint64_t kSecond = 1'000'000'000, kMostSeconds = std::uint64_t{1} << 33;
    if (event.wall_s == 0 || event.wall_s > kMostSeconds || event.wall_ns >= kSecond) return;
    const std::uint64_t since = event.time_us - std::min(event.time_us, event.initial_us);
    const std::uint64_t wall = event.wall_s * kSecond + event.wall_ns;
    if (since < wall / kMicrosecond) import_.profile.meta.start_unix_ns = wall - since * kMicrosecond;
  }

  // Return addresses, innermost first, added to a stack that is kept root first: what a thread's stacks have in common is
  // walked once, however many of them there are.
  void add_frames(std::vector<Step>& steps, const Event& event) {
    for (auto address = event.addresses.rbegin(); address != event.addresses.rend(); ++address) {
      const Step above = steps.empty() ? Step{} : steps.back();
      if (steps.size() >= kMostDepth) {
        deep_ = true;
        steps.push_back(above);
        continue;
      }
      const bytehound::Code::Place place = code_.place(*address == 0 ? 0 : *address - 1);
      const model::StackId stack = import_.builder.stack(above.stack, place.frame);
      steps.push_back({stack, place.of_tool ? above.outside : stack});
    }
  }

  std::string_view text(std::uint32_t number) const {
    const auto known = texts_.find(number);
    return known == texts_.end() ? std::string_view() : std::string_view(known->second);
  }

  void add_decoded_frame(const Event& event) {
    const std::string_view library = text(event.library);
    std::string_view function = text(event.function);
    if (function.empty()) function = text(event.raw_function);
    if (function.empty()) {
      decoded_.push_back(code_.place(event.pointer).frame);
      return;
    }
    decoded_.push_back(import_.frame(import_.module(library), function, text(event.source),
                                     event.line == bytehound::kNoText ? 0 : event.line));
  }

  // These are numbered in the order in which they come.
  void add_decoded_backtrace(const Event& event) {
    model::StackId stack{0};
    deep_ = deep_ || event.addresses.size() > kMostDepth;
    std::size_t depth = 0;
    for (auto frame = event.addresses.rbegin(); frame != event.addresses.rend() && depth < kMostDepth;
         ++frame, ++depth) {
      if (*frame >= decoded_.size()) continue;
      stack = import_.builder.stack(stack, decoded_[static_cast<std::size_t>(*frame)]);
    }
    traces_[decoded_traces_++] = stack;
  }

  void tick(std::uint64_t time_us) {
    const std::uint64_t since = std::min(time_us - std::min(time_us, initial_us_), kMostMicroseconds);
    const std::uint64_t time_ns = kImportStart + since * kMicrosecond;
    if (time_ns <= now_ns_) return;  // threads write their events in turns
    now_ns_ = time_ns;
    course_.now(time_ns);
    if (time_ns - slice_start_ns_ < slice_ns_) return;
    course_.end_slice(time_ns);
    slice_start_ns_ = time_ns;
  }

  struct Key {
    std::uint64_t thread, counter;  // thread 0: counter is the block's address
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const noexcept {
      return std::hash<std::uint64_t>{}((key.counter ^ key.thread << 40) * 0x9e3779b97f4a7c15u);
    }
  };
  // A block that has a number is found by it: its address may have been handed out again by then.
  static Key key_of(const Event& event, std::uint64_t pointer) {
    const bool none = event.id_thread == 0 && event.id_counter == 0;
    const bool invalid = event.id_thread == UINT64_MAX && event.id_counter == UINT64_MAX;
    return none || invalid ? Key{0, pointer} : Key{event.id_thread + 1, event.id_counter};
  }

  bool allocate(const Event& event) {
    const auto trace = traces_.find(event.backtrace);
    if (trace == traces_.end()) ++without_stack_;
    const model::StackId stack = trace == traces_.end() ? model::StackId{0} : trace->second;
    const model::ThreadId thread = thread_of(event.thread);
    const auto [known, added] = kinds_.try_emplace(
        {std::uint64_t{stack.value} << 32 | thread.value, event.size}, HeapCourse::kNoKind);
    if (added) known->second = course_.kind(event.size, stack, thread);
    const auto [block, is_new] = blocks_.insert_or_assign(key_of(event, event.pointer), known->second);
    (void)block;
    if (!is_new) ++reused_;
    return course_.allocate(known->second);
  }

  void free(const Key& key) {
    const auto block = blocks_.find(key);
    if (block == blocks_.end()) {
      ++unseen_;
      return;
    }
    (void)course_.free(block->second);
    blocks_.erase(block);
  }

  model::ThreadId thread_of(std::uint32_t tid) {
    const auto [known, added] = threads_.try_emplace(tid);
    if (added)
      known->second = import_.thread(process_, tid <= INT32_MAX ? static_cast<std::int32_t>(tid) : 0, "");
    return known->second;
  }

  Result<model::Profile> finish() {
    course_.finish(now_ns_);
    model::Profile& profile = import_.profile;
    model::Heap& heap = profile.heap.heaps[0];
    heap.unseen_frees = reused_;
    profile.meta.start_ns = kImportStart;
    profile.meta.end_ns = now_ns_;
    model::Process& process = profile.processes[0];
    process.pid = pid_;
    process.end_ns = now_ns_;
    process.name = import_.builder.string(base_name(executable_));
    if (!executable_.empty()) process.executable = import_.builder.string(executable_);
    const auto say = [&](std::uint64_t count, std::string_view what) {
      if (count != 0) import_.note(fmt::format("{} {}", count, what));
    };
    say(unseen_, "frees are of blocks that were never allocated.");
    say(without_stack_, "allocations have no stack in the file.");
    say(mappings_, "mappings of memory (mmap) are left out.");
    say(left_out_, "files in it are too large to read.");
    say(code_.without_contents(),
        "modules are not in the file, so their places are addresses of the process, which has ended.");
    if (code_.bad_maps()) import_.note("One of its lists of mappings cannot be read.");
    if (stripped_blocks_ != 0)
      import_.note(fmt::format(
          "{:.0f} blocks of {:.0f} bytes, which were freed, had been stripped from the file: they are missing in what was allocated, and in the peak.",
          stripped_blocks_, stripped_bytes_));
    if (deep_)
      import_.note(fmt::format("Stacks with more than {} frames lose their innermost frames.", kMostDepth));
    model::put_facts(model::ImportFacts{.heap_lives = "temporary only"}, profile.meta);
    profile.quality.samples = 0;
    return import_.finish(name_);
  }

  struct PairHash {
    std::size_t operator()(const std::pair<std::uint64_t, std::uint64_t>& key) const noexcept {
      return std::hash<std::uint64_t>{}(key.first * 0x9e3779b97f4a7c15u ^ key.second);
    }
  };

  std::string_view packed_;
  const std::string& name_;
  Import import_{"bytehound"};
  model::ProcessId process_ = import_.process(0, "");
  HeapCourse course_{import_, process_};
  bytehound::Code code_{import_};
  std::string executable_;
  std::int32_t pid_ = 0;
  std::unordered_map<std::uint64_t, model::StackId> traces_;
  std::unordered_map<std::uint32_t, std::vector<Step>> last_of_threads_;
  std::vector<Step> whole_;
  std::unordered_map<std::uint32_t, std::string> texts_;
  std::vector<model::FrameId> decoded_;
  std::uint64_t decoded_traces_ = 0;
  std::unordered_map<std::pair<std::uint64_t, std::uint64_t>, HeapCourse::Kind, PairHash> kinds_;
  std::unordered_map<Key, HeapCourse::Kind, KeyHash> blocks_;
  std::unordered_map<std::uint32_t, model::ThreadId> threads_;
  std::uint64_t initial_us_ = 0, now_ns_ = kImportStart, slice_start_ns_ = kImportStart, slice_ns_ = 1;
  std::uint64_t unseen_ = 0, reused_ = 0, without_stack_ = 0, mappings_ = 0, left_out_ = 0;
  double stripped_blocks_ = 0, stripped_bytes_ = 0;
  bool has_header_ = false, deep_ = false;
};

}  // namespace

bool is_bytehound(std::string_view bytes) {
  constexpr std::size_t kHead = 5, kLooked = 4096, kHeader = 64, kMostOfBlock = 1 << 20;
  if (bytes.size() <= kHead || (bytes[0] != 1 && bytes[0] != 2)) return false;
  std::size_t length = 0;
  for (std::size_t i = 0; i < 4; ++i)
    length |= std::size_t{static_cast<std::uint8_t>(bytes[1 + i])} << (8 * i);
  if (length > kMostOfBlock) return false;
  // The header's tag is 0, and so are the halves of its numbers that no clock reaches.
  const std::string_view block = bytes.substr(kHead, length);
  std::string start;
  if (bytes[0] == 2)
    start = block.substr(0, kLooked);
  else
    (void)unpack_lz4_block(block, kLooked, start);
  if (start.size() < kHeader) return false;
  const auto zero = [&](std::size_t at, std::size_t count) {
    return start.find_first_not_of('\0', at) >= at + count;
  };
  return zero(0, 4) && zero(26, 2) && zero(34, 2) && zero(42, 2) && zero(48, 4);
}

Result<model::Profile> read_bytehound(std::string_view bytes, const std::string& name) {
  return Reader(bytes, name).read();
}

}  // namespace fathom::formats
