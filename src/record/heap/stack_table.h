// The tracer's stack numbers -> stacks distinguished by content. Each thread numbers its own stacks, so the
// same stack has as many numbers as there are threads, and threads come and go during the recording: numbers
// are remembered for a while, contents permanently.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

namespace fathom::sources::heap {

class StackTable {
 public:
  // `seed` keys the hash of contents. Beyond `max_stacks` contents a stack becomes stack 0.
  StackTable(std::uint64_t seed, std::uint32_t max_stacks) : seed_(seed), max_stacks_(max_stacks) {}

  // What is remembered of one number.
  struct Known {
    std::uint32_t stack = 0;  // 0: the number was never defined, or has been forgotten
    // For lookups by number: the last site of the stack, 0 at first, and for which thread and allocator. All
    // in one place, because this is the first memory an event waits for.
    std::uint32_t site = 0, tid = 0;
    std::uint8_t allocator = 0;
    std::uint8_t end = 0;  // of the walk
  };
  // Null: not known. Valid until the next add().
  Known* find(std::uint32_t number) {
    const std::uint32_t page = number / kPage;
    if (page >= pages_.size() || !pages_[page]) return nullptr;
    pages_[page]->used = round_;
    return &pages_[page]->known[number % kPage];
  }

  // `words`: the addresses as they were walked. True if this content is new; `stack` then has its number,
  // counted from 1. `epoch`: of the mappings; the same addresses may mean something else in another one.
  bool add(std::uint32_t number, std::span<const std::byte> words, std::uint8_t end, std::uint32_t epoch,
           std::uint32_t& stack);

  // There is no room for the content of this number: what names it has no stack.
  void refuse(std::uint32_t number) {
    if (Known* known = find(number)) *known = {};
    ++refused_;
  }
  void next_round() { ++round_; }
  std::uint32_t stacks() const { return static_cast<std::uint32_t>(ends_.size() - 1); }
  std::uint8_t end_of(std::uint32_t stack) const { return ends_[stack]; }
  std::uint64_t refused() const { return refused_; }

 private:
  static constexpr std::uint32_t kPage = 4096;    // numbers
  static constexpr std::size_t kMostPages = 512;  // 2 million numbers in 32 MiB: threads that ended take none
  struct Page {
    std::array<Known, kPage> known{};
    std::uint64_t used = 0;  // the last round in which it was asked
  };
  struct Content {
    std::uint64_t low, high;
    bool operator==(const Content&) const = default;
  };
  struct ContentHash {
    std::size_t operator()(const Content& content) const noexcept { return content.low; }
  };
  void forget_oldest_page();

  std::uint64_t seed_;
  std::uint32_t max_stacks_;
  std::vector<std::unique_ptr<Page>> pages_;  // by number / kPage
  std::size_t pages_used_ = 0;
  std::unordered_map<Content, std::uint32_t, ContentHash> stacks_;
  std::vector<std::uint8_t> ends_ = std::vector<std::uint8_t>(1);  // by stack
  std::uint64_t round_ = 1, refused_ = 0;
};

}  // namespace fathom::sources::heap
