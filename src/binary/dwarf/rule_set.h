// Rules, each kept once: a few hundred serve a whole program.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/abi/unwind_table.h"

namespace fathom::dwarf {

class RuleSet {
 public:
  static constexpr std::uint16_t kNone = 0;         // CFA_NONE, as base/abi/unwind_table.h promises
  static constexpr std::uint16_t kUnsupported = 1;  // also what stands in when no more rules fit

  RuleSet() : slots_(kFirstSlots, kEmpty) {
    unwind_rule rule{};
    rule.cfa = CFA_NONE;
    insert(rule);
    rule.cfa = CFA_UNSUPPORTED;
    insert(rule);
  }

  std::uint16_t insert(const unwind_rule& rule) {
    std::size_t slot = hash(rule) & (slots_.size() - 1);
    for (; slots_[slot] != kEmpty; slot = (slot + 1) & (slots_.size() - 1))
      if (same(rules_[slots_[slot]], rule)) return static_cast<std::uint16_t>(slots_[slot]);
    if (rules_.size() == UNWIND_MAX_RULES) return kUnsupported;
    const auto number = static_cast<std::uint32_t>(rules_.size());
    rules_.push_back(rule);
    slots_[slot] = number;
    if (rules_.size() * 2 > slots_.size()) rehash();
    return static_cast<std::uint16_t>(number);
  }

  std::span<const unwind_rule> rules() const { return rules_; }
  std::vector<unwind_rule> take() && { return std::move(rules_); }

 private:
  static constexpr std::size_t kFirstSlots = 4096;  // a power of two
  static constexpr std::uint32_t kEmpty = ~0u;

  static std::size_t hash(const unwind_rule& rule) {
    std::uint64_t words[2];
    std::memcpy(words, &rule, sizeof words);
    const std::uint64_t mixed = (words[0] ^ words[1] * 0x9e3779b97f4a7c15) * 0xff51afd7ed558ccd;
    return static_cast<std::size_t>(mixed ^ mixed >> 32);
  }
  // Rules have no padding: base/abi/unwind_table.h asserts their size.
  static bool same(const unwind_rule& a, const unwind_rule& b) { return std::memcmp(&a, &b, sizeof a) == 0; }

  void rehash() {
    slots_.assign(slots_.size() * 2, kEmpty);
    for (std::uint32_t number = 0; number < rules_.size(); ++number) {
      std::size_t slot = hash(rules_[number]) & (slots_.size() - 1);
      while (slots_[slot] != kEmpty) slot = (slot + 1) & (slots_.size() - 1);
      slots_[slot] = number;
    }
  }

  std::vector<unwind_rule> rules_;
  std::vector<std::uint32_t> slots_;
};

}  // namespace fathom::dwarf
