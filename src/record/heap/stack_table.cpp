#include "record/heap/stack_table.h"

#include <cstring>

namespace fathom::sources::heap {
namespace {

std::uint64_t mixed(std::uint64_t hash, std::uint64_t word, std::uint64_t odd) {
  hash = (hash ^ word) * odd;
  return hash ^ hash >> 32;
}

}  // namespace

bool StackTable::add(std::uint32_t number, std::span<const std::byte> words, std::uint8_t end,
                     std::uint32_t epoch, std::uint32_t& stack) {
  Content content{seed_, ~seed_};
  const auto take = [&](std::uint64_t word) {
    content.low = mixed(content.low, word, 0x9e3779b97f4a7c15ull);
    content.high = mixed(content.high, word, 0xd6e8feb86659fd93ull);
  };
  take(std::uint64_t{end} << 32 | epoch);
  for (std::size_t at = 0; at + 8 <= words.size(); at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, words.data() + at, sizeof(word));
    take(word);
  }
  const auto known = stacks_.find(content);
  const bool is_new = known == stacks_.end() && stacks() < max_stacks_;
  stack = known != stacks_.end() ? known->second : is_new ? stacks() + 1 : 0;
  if (is_new) {
    stacks_.emplace(content, stack);
    ends_.push_back(end);
  }
  if (stack == 0) ++refused_;

  const std::uint32_t page = number / kPage;
  if (page >= pages_.size()) pages_.resize(std::size_t{page} + 1);
  if (!pages_[page]) {
    if (pages_used_ >= kMostPages) forget_oldest_page();
    pages_[page] = std::make_unique<Page>();
    ++pages_used_;
  }
  pages_[page]->used = round_;
  pages_[page]->known[number % kPage] = {.stack = stack, .end = end};
  return is_new;
}

void StackTable::forget_oldest_page() {
  std::unique_ptr<Page>* oldest = nullptr;
  for (auto& page : pages_)
    if (page && (oldest == nullptr || page->used < (*oldest)->used)) oldest = &page;
  if (oldest == nullptr) return;
  oldest->reset();
  --pages_used_;
}

}  // namespace fathom::sources::heap
