#include "record/bpf/table_space.h"

#include <algorithm>
#include <cstring>

namespace fathom::sources {
namespace {

// Runs rest until so many others were retired: a walk takes microseconds, a retirement happens a few times a
// second.
constexpr std::size_t kRestingRuns = 64;
constexpr std::size_t kRowsAtOnce = 1 << 16;

std::uint64_t hash_of(const unwind_rule& rule) {
  std::uint64_t words[2];
  std::memcpy(words, &rule, sizeof(words));
  return (words[0] * 0x9e3779b97f4a7c15ull) ^ (words[1] * 0xc2b2ae3d27d4eb4full);
}

bool same(const unwind_rule& a, const unwind_rule& b) {
  return std::memcmp(&a, &b, sizeof(a)) == 0;
}

}  // namespace

TableSpace::TableSpace(TableArrays arrays, Publish publish)
    : arrays_(std::move(arrays)),
      publish_(std::move(publish)),
      rows_(arrays_.rows.size()),
      pages_(arrays_.pages.size()),
      mappings_(arrays_.mappings.size()) {
  unwind_rule none{};
  none.cfa = CFA_NONE;
  (void)rule_number(none);
  (void)write_rules();
}

std::optional<std::uint32_t> TableSpace::rule_number(const unwind_rule& rule) {
  const std::uint64_t hash = hash_of(rule);
  auto [first, last] = rule_numbers_.equal_range(hash);
  for (; first != last; ++first) {
    if (same(rules_[first->second], rule)) return first->second;
  }
  if (rules_.size() >= arrays_.rules.size() || rules_.size() >= UNWIND_MAX_RULES) return std::nullopt;
  const auto number = static_cast<std::uint32_t>(rules_.size());
  rules_.push_back(rule);
  rule_numbers_.emplace(hash, number);
  return number;
}

bool TableSpace::write_rules() {
  const std::span new_rules = std::span(rules_).subspan(rules_written_);
  if (!new_rules.empty() && !arrays_.rules.write(rules_written_, new_rules)) return false;
  rules_written_ = static_cast<std::uint32_t>(rules_.size());
  return true;
}

bool TableSpace::write_rows(std::span<const unwind_row> rows, std::uint32_t first,
                            std::span<const std::uint32_t> rule_numbers) const {
  std::vector<unwind_row> written;
  while (!rows.empty()) {
    const auto some = rows.first(std::min(rows.size(), kRowsAtOnce));
    written.clear();
    for (const unwind_row row : some) {
      const std::uint32_t rule = UNWIND_ROW_RULE(row);
      written.push_back(
          UNWIND_ROW(UNWIND_ROW_ADDRESS(row), rule < rule_numbers.size() ? rule_numbers[rule] : 0));
    }
    if (!arrays_.rows.write(first, written)) return false;
    first += static_cast<std::uint32_t>(some.size());
    rows = rows.subspan(some.size());
  }
  return true;
}

bool TableSpace::write_pages(std::span<const unwind_page> pages, std::uint32_t first,
                             std::uint32_t first_row) const {
  std::vector<unwind_page> written;
  written.reserve(pages.size());
  for (const unwind_page page : pages) {
    const std::uint64_t low = static_cast<std::uint32_t>(page) + first_row;
    const std::uint64_t high = (page >> 32) + first_row;
    written.push_back(low | high << 32);
  }
  return arrays_.pages.write(first, written);
}

std::optional<TableSlot> TableSpace::add(std::span<const unwind_row> rows, std::span<const unwind_page> pages,
                                         std::span<const unwind_rule> rules, std::uint64_t page_base) {
  if (rows.empty() || pages.empty() || rows.size() > arrays_.rows.size() ||
      pages.size() > arrays_.pages.size())
    return std::nullopt;
  std::vector<std::uint32_t> numbers(rules.size());
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const auto number = rule_number(rules[i]);
    if (!number) return std::nullopt;
    numbers[i] = *number;
  }
  const auto row_count = static_cast<std::uint32_t>(rows.size());
  const auto page_count = static_cast<std::uint32_t>(pages.size());
  const auto first_row = rows_.allocate(row_count);
  if (!first_row) return std::nullopt;
  const auto first_page = pages_.allocate(page_count);
  if (!first_page) {
    rows_.release(*first_row, row_count);
    return std::nullopt;
  }
  const TableSlot slot{*first_page, page_count, page_base, *first_row, row_count};
  if (write_rules() && write_rows(rows, *first_row, numbers) && write_pages(pages, *first_page, *first_row))
    return slot;
  remove(slot);
  return std::nullopt;
}

void TableSpace::remove(const TableSlot& slot) {
  rows_.release(slot.first_row, slot.row_count);
  pages_.release(slot.first_page, slot.page_count);
}

bool TableSpace::set_mappings(std::uint32_t pid, std::span<const unwind_mapping> mappings,
                              std::uint32_t epoch) {
  const auto count = static_cast<std::uint32_t>(mappings.size());
  auto first = mappings_.allocate(count);
  while (!first && !resting_.empty()) {  // short of room: what rests is needed now
    mappings_.release(resting_.front().first, resting_.front().count);
    resting_.pop_front();
    first = mappings_.allocate(count);
  }
  if (!first) return false;
  if (count != 0 && !arrays_.mappings.write(*first, mappings)) {
    mappings_.release(*first, count);
    return false;
  }
  publish_(pid, {.mapping_first = *first,
                 .mapping_count = count,
                 .epoch = epoch,
                 .waits_for_exec = 0,
                 .copies_left = COPIES_PER_MAPPINGS});
  if (const auto old = runs_.find(pid); old != runs_.end()) retire(old->second);
  runs_[pid] = {*first, count};
  return true;
}

void TableSpace::forget(std::uint32_t pid) {
  const auto run = runs_.find(pid);
  if (run == runs_.end()) return;
  retire(run->second);
  runs_.erase(run);
}

void TableSpace::retire(Run run) {
  resting_.push_back(run);
  if (resting_.size() <= kRestingRuns) return;
  mappings_.release(resting_.front().first, resting_.front().count);
  resting_.pop_front();
}

}  // namespace fathom::sources
