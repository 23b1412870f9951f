#include "model/store/lives_reader.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "model/store/payload.h"

namespace fathom::store {
namespace {

// Idle threads take one place after the other; finished ones wait in a ring for their turn.
class Workers {
 public:
  using Filter = std::function<double(std::vector<model::HeapBlock>&)>;

  Workers(const Input& input, std::span<const LivesPlace> places, const model::HeapTables& heap,
          bool only_live, const Filter& filter)
      : input_(input), places_(places), heap_(heap), only_live_(only_live), filter_(filter) {
    // Each heap has slices of its own, and a glance does not show which heap a block is of: the heap with the fewest decides. Heaps
    // without lives of blocks, such as that of mapped memory, which most recordings have, do not matter.
    std::vector<std::size_t> slices(heap.heaps.size());
    for (const model::HeapSlice& slice : heap.slices) ++slices[slice.heap.value];
    slices_ = heap.slices.size();
    for (std::size_t i = 0; i < slices.size(); ++i) {
      if (!heap.heaps[i].each_block) continue;
      ++heaps_;
      slices_ = std::min(slices_, slices[i]);
    }
    const std::size_t count = lives_threads(places.size());
    ring_.resize(2 * count);
    for (std::size_t i = 0; i < count; ++i) threads_.emplace_back([this] { work(); });
  }
  ~Workers() {
    {
      const std::lock_guard guard(lock_);
      stop_ = true;
    }
    room_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  // Waits for the next one in order. The caller returns its vector for reuse.
  void next(Lives& lives) {
    std::unique_lock guard(lock_);
    Slot& slot = ring_[taken_ % ring_.size()];
    ready_.wait(guard, [&] { return slot.ready; });
    std::swap(lives, slot.lives);
    slot.ready = false;
    ++taken_;
    guard.unlock();
    room_.notify_all();
  }

 private:
  struct Slot {
    Lives lives;
    bool ready = false;
  };

  void work() {
    BlockDecoder decoder;
    LivesOfSites known;
    Bytes stored;
    Lives lives;
    for (;;) {
      std::size_t mine = 0;
      {
        std::unique_lock guard(lock_);
        room_.wait(guard,
                   [&] { return stop_ || begun_ == places_.size() || begun_ < taken_ + ring_.size(); });
        if (stop_ || begun_ == places_.size()) return;
        mine = begun_++;
      }
      std::optional<double> skipped;
      lives.outcome = read(places_[mine], decoder, known, stored, lives.blocks, skipped);
      if (!lives.outcome || skipped) lives.blocks.clear();
      lives.read = skipped ? *skipped : filter_(lives.blocks);
      {
        const std::lock_guard guard(lock_);
        Slot& slot = ring_[mine % ring_.size()];
        std::swap(lives, slot.lives);
        slot.ready = true;
      }
      ready_.notify_one();
    }
  }

  Result<> read(const LivesPlace& place, BlockDecoder& decoder, LivesOfSites& known, Bytes& stored,
                std::vector<model::HeapBlock>& out, std::optional<double>& skipped) const {
    auto copied = input_.copy(place.offset + kBlockHeaderSize, place.header.stored_size, stored);
    if (!copied) return copied;
    const auto payload = decoder.payload(place.header, stored);
    if (!payload) return tl::make_unexpected(payload.error());
    if (only_live_) {
      const auto glance = glance_at_lives(Cursor(*payload), place.header.rows, slices_);
      if (!glance) return tl::make_unexpected(glance.error());
      const bool known = heaps_ == 1 || glance->blocks == place.header.rows;
      if (known && !glance->any_live && !glance->any_sampled) {
        skipped = static_cast<double>(glance->blocks);
        return {};
      }
    }
    return decode_lives(Cursor(*payload), place.header.rows, heap_, known, out);
  }

  const Input& input_;
  std::span<const LivesPlace> places_;
  const model::HeapTables& heap_;
  bool only_live_;
  std::size_t heaps_ = 0, slices_ = 0;  // with lives of blocks; slices of the one that has the fewest
  const Filter& filter_;
  std::mutex lock_;
  std::condition_variable room_, ready_;
  std::vector<Slot> ring_;
  std::size_t begun_ = 0, taken_ = 0;
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace

std::size_t lives_threads(std::size_t places) {
  return std::min<std::size_t>({places, std::max(std::thread::hardware_concurrency(), 1u), 8});
}

Result<> read_lives(const Input& input, std::span<const LivesPlace> places, const model::HeapTables& heap,
                    bool only_live, const std::function<double(std::vector<model::HeapBlock>&)>& filter,
                    const std::function<Result<>(std::size_t, Lives&)>& take) {
  if (places.empty()) return {};
  Workers workers(input, places, heap, only_live, filter);
  Lives lives;
  for (std::size_t i = 0; i < places.size(); ++i) {
    workers.next(lives);
    if (auto taken = take(i, lives); !taken) return taken;
  }
  return {};
}

}  // namespace fathom::store
