#include "model/store/lives_reader.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "model/store/payload.h"

namespace fathom::store {
namespace {

// Idle threads take one place after the other; finished ones wait in a ring for their turn.
class Workers {
 public:
  using Filter = std::function<double(std::vector<model::HeapBlock>&)>;

  Workers(const Input& input, std::span<const LivesPlace> places, const model::HeapTables& heap,
          const LivesWanted& wanted, const Filter& filter)
      : input_(input), places_(places), heap_(heap), wanted_(wanted), filter_(filter) {
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
    if (chooses_sizes())
      for (const model::HeapSite& site : heap.sites)
        slices_of_sites_.push_back(static_cast<std::uint32_t>(slices[site.heap.value]));
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
      double left_out = 0;
      lives.blocks.clear();
      lives.outcome = read(places_[mine], decoder, known, stored, lives.blocks, left_out);
      if (!lives.outcome) lives.blocks.clear();
      lives.read = lives.outcome ? left_out + filter_(lives.blocks) : 0;
      {
        const std::lock_guard guard(lock_);
        Slot& slot = ring_[mine % ring_.size()];
        std::swap(lives, slot.lives);
        slot.ready = true;
      }
      ready_.notify_one();
    }
  }

  bool chooses_sizes() const { return wanted_.least_size != 0 || wanted_.most_size != UINT64_MAX; }

  // `left_out`: the blocks of the program that are not decoded.
  Result<> read(const LivesPlace& place, BlockDecoder& decoder, LivesOfSites& known, Bytes& stored,
                std::vector<model::HeapBlock>& out, double& left_out) const {
    const LivesHints hints = wanted_.hints ? hints_of(place.header) : LivesHints{};
    if (hints.exact && ((wanted_.only_live && hints.none_live) || wanted_.least_size > hints.most_size)) {
      left_out = place.header.rows;
      return {};
    }
    auto copied = input_.copy(place.offset + kBlockHeaderSize, place.header.stored_size, stored);
    if (!copied) return copied;
    const auto payload = decoder.payload(place.header, stored);
    if (!payload) return tl::make_unexpected(payload.error());
    if (wanted_.only_live) {
      const auto glance = glance_at_lives(Cursor(*payload), place.header.rows, slices_);
      if (!glance) return tl::make_unexpected(glance.error());
      const bool known_heap = heaps_ == 1 || glance->blocks == place.header.rows;
      if (known_heap && !glance->any_live && !glance->any_sampled) {
        left_out = static_cast<double>(glance->blocks);
        return {};
      }
    }
    LivesOfSize sizes{wanted_.least_size, wanted_.most_size, slices_of_sites_};
    auto decoded = decode_lives(Cursor(*payload), place.header.rows, heap_, known, out,
                                chooses_sizes() ? &sizes : nullptr);
    left_out = sizes.left_out;
    return decoded;
  }

  const Input& input_;
  std::span<const LivesPlace> places_;
  const model::HeapTables& heap_;
  LivesWanted wanted_;
  std::size_t heaps_ = 0, slices_ = 0;          // with lives of blocks; slices of the one that has the fewest
  std::vector<std::uint32_t> slices_of_sites_;  // if sizes are chosen
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
                    const LivesWanted& wanted,
                    const std::function<double(std::vector<model::HeapBlock>&)>& filter,
                    const std::function<Result<>(std::size_t, Lives&)>& take) {
  if (places.empty()) return {};
  Workers workers(input, places, heap, wanted, filter);
  Lives lives;
  for (std::size_t i = 0; i < places.size(); ++i) {
    workers.next(lives);
    if (auto taken = take(i, lives); !taken) return taken;
  }
  return {};
}

}  // namespace fathom::store
