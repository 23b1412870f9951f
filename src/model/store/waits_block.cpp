// WAIT: fifteen columns. The place where a thread waits nearly determines why: so facts are differences from
// the previous wait on the same stack, and times are relative to the end of the thread's previous wait. What
// remains is how long it ran, waited and queued.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "model/store/differences.h"
#include "model/store/payload.h"
#include "model/store/row_heads.h"

namespace fathom::store {
namespace {

using namespace model;

enum Column {
  kThread,
  kStack,
  kStart,
  kWaited,
  kQueued,
  kTaskState,
  kWalkEnd,
  kSystemCall,
  kArgument,
  kObject,
  kWaker,
  kWakerStack,
  kWeight,
  kFlags,
  kResult,  // since 1.2
  kColumnCount
};
constexpr int kColumnsOf11 = kResult;

constexpr std::uint64_t kBeganBefore = 1, kUnfinished = 2, kThrottled = 4;  // of kFlags

// 0: no thread.
std::uint64_t waker_code(ThreadId waker) {
  return waker == kNoThread ? 0 : std::uint64_t{waker.value} + 1;
}

// The earlier waits of the block, as far as they predict the next one.
struct OfThread {
  std::uint64_t end_ns = 0;
  std::uint32_t stack = 0;
  Differences weight;
};
struct OfStack {
  Differences state, walk_end, system_call;
};
struct OfBoth {
  Differences argument, object, waker, waker_stack;
};
class Before {
 public:
  explicit Before(std::uint64_t base_ns) : base_ns_(base_ns) {}
  OfThread& of_thread(std::uint32_t thread) {
    return threads_.try_emplace(thread, OfThread{base_ns_, 0, {}}).first->second;
  }
  OfStack& of_stack(std::uint32_t stack) { return stacks_[stack]; }
  OfBoth& of_both(std::uint32_t thread, std::uint32_t stack) {
    return both_[std::uint64_t{thread} << 32 | stack];
  }

 private:
  std::uint64_t base_ns_;
  std::unordered_map<std::uint32_t, OfThread> threads_;
  std::unordered_map<std::uint32_t, OfStack> stacks_;
  std::unordered_map<std::uint64_t, OfBoth> both_;
};

bool ends_in_time(const Wait& wait) {
  const std::uint64_t left = UINT64_MAX - wait.start_ns;
  return wait.waited_ns <= left && wait.queued_ns <= left - wait.waited_ns;
}

// Cuts a wait to the window; false if nothing remains.
bool cut(Wait& wait, const ReadOptions& window) {
  const std::uint64_t from = window.from_ns.value_or(0), to = window.to_ns.value_or(UINT64_MAX);
  const std::uint64_t woken = wait.start_ns + wait.waited_ns, end = woken + wait.queued_ns;
  if (to <= from || (window.to_ns && wait.start_ns >= to)) return false;
  if (wait.start_ns < from && end <= from) return false;
  wait.began_before = wait.began_before || wait.start_ns < from;
  wait.unfinished = wait.unfinished || end > to;
  const std::uint64_t start_in = std::max(wait.start_ns, from), end_in = std::min(end, to);
  const std::uint64_t woken_in = std::clamp(woken, start_in, end_in);
  wait.start_ns = start_in;
  wait.waited_ns = woken_in - start_in;
  wait.queued_ns = end_in - woken_in;
  return true;
}

}  // namespace

std::uint64_t end_of(const Wait& wait) {
  return ends_in_time(wait) ? wait.start_ns + wait.waited_ns + wait.queued_ns : UINT64_MAX;
}

Bytes encode_waits(std::span<const Wait> waits) {
  const std::uint64_t base = waits.empty() ? 0 : waits[0].start_ns;
  Before before(base);
  std::array<std::vector<std::uint64_t>, kColumnCount> columns;
  for (auto& column : columns) column.reserve(waits.size());
  for (const Wait& wait : waits) {
    OfThread& thread = before.of_thread(wait.thread.value);
    OfStack& stack = before.of_stack(wait.stack.value);
    OfBoth& both = before.of_both(wait.thread.value, wait.stack.value);
    columns[kThread].push_back(wait.thread.value);
    columns[kStack].push_back(wait.stack.value == thread.stack ? 0 : std::uint64_t{wait.stack.value} + 1);
    columns[kStart].push_back(zigzag(static_cast<std::int64_t>(wait.start_ns - thread.end_ns)));
    columns[kWaited].push_back(wait.waited_ns);
    columns[kQueued].push_back(wait.queued_ns);
    columns[kTaskState].push_back(stack.state.encode(static_cast<std::uint64_t>(wait.state)));
    columns[kWalkEnd].push_back(stack.walk_end.encode(wait.end));
    columns[kSystemCall].push_back(
        stack.system_call.encode(static_cast<std::uint64_t>(std::int64_t{wait.system_call})));
    columns[kArgument].push_back(both.argument.encode(wait.argument));
    columns[kObject].push_back(both.object.encode(wait.object.value));
    columns[kWaker].push_back(both.waker.encode(waker_code(wait.waker)));
    columns[kWakerStack].push_back(both.waker_stack.encode(wait.waker_stack.value));
    columns[kWeight].push_back(thread.weight.encode(wait.weight));
    columns[kFlags].push_back((wait.began_before ? kBeganBefore : 0) | (wait.unfinished ? kUnfinished : 0) |
                              (wait.throttled ? kThrottled : 0));
    columns[kResult].push_back(wait.result == Wait::kNoResult ? 0 : zigzag(wait.result) + 1);
    thread.end_ns = end_of(wait);
    thread.stack = wait.stack.value;
  }
  Bytes out;
  put_varint(out, waits.size());
  put_varint(out, base);
  for (const auto& column : columns) put_column(out, column);
  return out;
}

Result<> decode_waits(Cursor in, std::uint32_t rows, Loading& loading) {
  const auto count = read_row_count(in, rows, "waits");
  if (!count) return tl::make_unexpected(count.error());
  const std::uint64_t base = in.read_uleb128();
  RowColumns columns(in, *count, kColumnsOf11, "waits");
  const bool has_results = in.ok() && in.remaining() != 0;
  if (has_results) columns.add(in);
  if (auto admitted = columns.admit(sizeof(Wait), loading); !admitted) return admitted;

  // All of the block or nothing: a lost block is counted as a whole.
  auto& waits = loading.profile.waits;
  const std::size_t there = waits.size();
  const auto refuse = [&](std::string what) {
    waits.resize(there);
    return fail(ErrorKind::kMalformed, std::move(what));
  };
  std::uint64_t filtered = 0;
  Before before(base);
  for (std::uint64_t i = 0; i < *count; ++i) {
    Wait wait;
    wait.thread = {row_id(columns.next(kThread))};
    OfThread& thread = before.of_thread(wait.thread.value);
    const std::uint64_t stack_code = columns.next(kStack);
    wait.stack = {stack_code == 0 ? thread.stack : row_id(stack_code - 1)};
    OfStack& stack = before.of_stack(wait.stack.value);
    OfBoth& both = before.of_both(wait.thread.value, wait.stack.value);
    wait.start_ns = thread.end_ns + static_cast<std::uint64_t>(unzigzag(columns.next(kStart)));
    wait.waited_ns = columns.next(kWaited);
    wait.queued_ns = columns.next(kQueued);
    wait.state =
        static_cast<WaitState>(std::min<std::uint64_t>(stack.state.decode(columns.next(kTaskState)), 255));
    wait.end = static_cast<WalkEnd>(stack.walk_end.decode(columns.next(kWalkEnd)));
    wait.system_call = static_cast<std::int32_t>(stack.system_call.decode(columns.next(kSystemCall)));
    wait.argument = both.argument.decode(columns.next(kArgument));
    wait.object = {row_id(both.object.decode(columns.next(kObject)))};
    const std::uint64_t waker = both.waker.decode(columns.next(kWaker));
    wait.waker = waker == 0 ? kNoThread : ThreadId{row_id(waker - 1)};
    wait.waker_stack = {row_id(both.waker_stack.decode(columns.next(kWakerStack)))};
    wait.weight = row_id(thread.weight.decode(columns.next(kWeight)));
    const std::uint64_t flags = columns.next(kFlags);
    wait.began_before = (flags & kBeganBefore) != 0;
    wait.unfinished = (flags & kUnfinished) != 0;
    wait.throttled = (flags & kThrottled) != 0;
    if (const std::uint64_t code = has_results ? columns.next(kResult) : 0; code != 0)
      wait.result = unzigzag(code - 1);
    if (wait.thread.value >= loading.profile.threads.size() && !loading.damaged)
      return refuse(fmt::format("wait {}: no such thread", i));
    if (!ends_in_time(wait)) return refuse(fmt::format("wait {}: ends beyond the end of time", i));
    thread.end_ns = end_of(wait);
    thread.stack = wait.stack.value;
    if (cut(wait, loading.options))
      waits.push_back(wait);
    else
      ++filtered;
  }
  if (auto whole = columns.whole(); !whole) {
    waits.resize(there);
    return whole;
  }
  loading.filtered_waits += filtered;
  return {};
}

}  // namespace fathom::store
