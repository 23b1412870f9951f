#include <Zydis/Zydis.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/arch/common/prologue.h"
#include "base/arch/x86_64/code/frame_state.h"

namespace fathom::arch {

using namespace frame;  // the states that a path through a function passes

namespace {

// Hand-written code stays far below; a function this large was made by a compiler, and then has tables.
constexpr std::size_t kLargestFunction = std::size_t{1} << 20;  // bytes

// A function has a handful of frame layouts. More are a sign of hostile code, and would make the search for
// them slow.
constexpr std::size_t kMostStates = 1024;

// For code without known bounds. Paths that contradict each other are followed more than once.
constexpr std::uint64_t kMostVisits = 16;  // of each byte, on average
constexpr int kDeepestRegion = 1000;       // calls after each other
constexpr std::size_t kMostSwitchStates = 4;

// All paths through one function.
class Function {
 public:
  explicit Function(std::span<const std::byte> code) : code_(code), state_at_(code.size(), kUnreached) {
    ZydisDecoderInit(&decoder_, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
  }

  bool follow() {
    if (!reach(0, State{})) return false;
    // What stands after a call comes last: if the call never returns, another path has reached it by then,
    // and counts.
    for (;;) {
      if (!open_.empty()) {
        const std::uint32_t offset = open_.back();
        open_.pop_back();
        if (!follow_from(offset)) return false;
      } else if (!after_calls_.empty()) {
        const auto [offset, state] = *after_calls_.begin();
        after_calls_.erase(after_calls_.begin());
        if (!reach_after_call(offset, state)) return false;
      } else if (!open_switch_target()) {
        return true;
      }
    }
  }

  // As follow(), for code that may hold more than its function. Every path that was only guessed is taken back
  // when it contradicts the others.
  bool follow_start() {
    if (is_trap(code_.front())) return false;
    budget_ = kMostVisits * code_.size() + kMostVisits;
    reached_in_.resize(code_.size());
    const Region main = follow_region(0, State{}, 0);
    if (main.contradicted) return false;
    returns_ = main.returns;
    open_switch_regions();
    return true;
  }
  bool returns() const { return returns_; }
  const std::vector<std::uint64_t>& leaves_to() const { return leaves_to_; }

  std::vector<PrologueRow> rows() const {
    std::vector<PrologueRow> rows;
    std::uint16_t last = kInside;  // none yet
    for (std::size_t offset = 0; offset < code_.size();) {
      const std::uint16_t here = state_at_[offset];
      std::size_t next = offset + 1;
      while (next < code_.size() && (state_at_[next] == here || state_at_[next] == kInside)) ++next;
      // The rule before holds on in padding: two rows saved.
      if (here != last && !(here == kUnreached && is_padding(offset, next))) {
        const auto at = static_cast<std::uint32_t>(offset);
        if (here == kUnreached) {
          rows.push_back({at, unwind_rule{}, false});
        } else {
          rows.push_back({at, rule_of(states_[here]), states_[here].rbp_is_callers});
        }
        last = here;
      }
      offset = next;
    }
    return rows;
  }

 private:
  static constexpr std::uint16_t kUnreached = 0xffff;
  static constexpr std::uint16_t kInside = 0xfffe;  // of an instruction, not its first byte

  // int3, which linkers fill gaps with
  static bool is_trap(std::byte first) { return first == std::byte{0xcc}; }

  bool is_padding(std::size_t offset, std::size_t end) const {
    while (offset < end) {
      ZydisDecodedInstruction decoded;
      const bool ok = ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder_, nullptr, code_.data() + offset,
                                                                 code_.size() - offset, &decoded));
      if (!ok || (decoded.mnemonic != ZYDIS_MNEMONIC_NOP && decoded.mnemonic != ZYDIS_MNEMONIC_INT3))
        return false;
      offset += decoded.length;
    }
    return true;
  }

  std::uint16_t number_of(const State& state) {
    const auto number = std::find(states_.begin(), states_.end(), state) - states_.begin();
    if (static_cast<std::size_t>(number) == states_.size()) states_.push_back(state);
    return static_cast<std::uint16_t>(number);
  }

  // A path comes to this instruction. False: it contradicts another one, or leads into the middle of an
  // instruction.
  bool reach(std::uint64_t offset, const State& state) {
    if (offset >= code_.size()) {  // into other code: a tail call, or a part elsewhere
      if (lenient()) leaves_to_.push_back(offset);
      // With something left on the stack: to a part of its own that lies elsewhere, if this is what it seems.
      if (!state.rsp_known || state.rsp_depth != 8 || !state.rbp_is_callers) here_.contradicted = true;
      return true;
    }
    if (states_.size() >= kMostStates) return false;
    std::uint16_t& known = state_at_[static_cast<std::size_t>(offset)];
    if (known == kInside) return false;
    State now = state;
    if (known != kUnreached) {
      const auto both = meet(states_[known], state);
      if (!both) return false;
      now = *both;
    }
    if (!sound(now)) return false;
    const std::uint16_t number = number_of(now);
    if (lenient()) {
      std::uint32_t& region = reached_in_[static_cast<std::size_t>(offset)];
      if (known == kUnreached) region = number_;
      here_.joins = std::min(here_.joins, region);
    }
    if (known != number) {
      set(known, number);
      open_.push_back(static_cast<std::uint32_t>(offset));
    }
    return true;
  }

  void set(std::uint16_t& place, std::uint16_t value) {
    if (lenient()) undo_.emplace_back(static_cast<std::uint32_t>(&place - state_at_.data()), place);
    place = value;
  }
  bool lenient() const { return budget_ != 0; }

  // ---- Paths that may have to be taken back.

  struct Region {
    bool contradicted = false;  // while it is followed: something in it may be
    bool returns = false;       // as it should
    std::uint32_t joins = ~0u;  // the first of the regions whose code it came to
    // What came to a good end, seen from the region with this number.
    bool is_proven_for(std::uint32_t number) const { return !contradicted && (returns || joins < number); }
  };

  // Follows all that begins here with this state, also behind calls, as one more region.
  Region follow_region(std::uint32_t offset, const State& state, int depth) {
    const std::size_t undo = undo_.size(), leaves = leaves_to_.size();
    const std::uint32_t number = ++regions_;
    std::map<std::uint32_t, State> outer;
    outer.swap(after_calls_);
    const auto give_up = [&] {
      for (; undo_.size() > undo; undo_.pop_back()) state_at_[undo_.back().first] = undo_.back().second;
      leaves_to_.resize(leaves);
      open_.clear();
      after_calls_.swap(outer);
      return Region{.contradicted = true};
    };
    here_ = {};
    number_ = number;
    bool followed = reach(offset, state);
    while (followed && !open_.empty()) {
      const std::uint32_t next = open_.back();
      open_.pop_back();
      followed = budget_ > 1 && --budget_ > 1 && follow_from(next);
    }
    if (!followed) return give_up();
    Region all = here_;
    bool doubtful = std::exchange(all.contradicted, false);
    std::map<std::uint32_t, State> mine;
    mine.swap(after_calls_);
    for (const auto& [after, held] : mine) {
      if (depth == kDeepestRegion) break;
      const std::uint16_t known = state_at_[after];
      if (known != kUnreached) {
        if (known != kInside && meet(states_[known], held))
          all.joins = std::min(all.joins, reached_in_[after]);
        continue;
      }
      const Region region = follow_region(after, held, depth + 1);
      doubtful = doubtful || region.contradicted;
      all.returns = all.returns || region.returns;
      all.joins = std::min(all.joins, region.joins);
    }
    // Nothing here came to a good end and something to a bad one: this is another function already.
    if (doubtful && depth != 0 && !all.is_proven_for(number)) return give_up();
    after_calls_.swap(outer);
    return all;
  }

  // What no path has reached may be the cases of a switch.
  void open_switch_regions() {
    std::vector<State> entries;
    for (const State& state : switches_)
      if (std::find(entries.begin(), entries.end(), state) == entries.end()) entries.push_back(state);
    if (entries.empty() || entries.size() > kMostSwitchStates) return;
    for (std::uint32_t at = 0; at < code_.size() && budget_ > 1; ++at) {
      const std::uint32_t before = regions_ + 1;
      if (state_at_[at] != kUnreached) continue;
      ZydisDecodedInstruction decoded;
      if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder_, nullptr, code_.data() + at,
                                                      code_.size() - at, &decoded)))
        return;
      if (decoded.mnemonic == ZYDIS_MNEMONIC_NOP || decoded.mnemonic == ZYDIS_MNEMONIC_INT3) {
        at += decoded.length - 1u;
        continue;
      }
      const auto fits = [&](const State& state) {
        const Region region = follow_region(at, state, 1);
        return region.is_proven_for(before);
      };
      if (std::none_of(entries.begin(), entries.end(), fits)) return;
    }
  }

  // A call may or may not return. Where another path has been and contradicts it, it does not.
  bool reach_after_call(std::uint32_t offset, const State& state) {
    const std::uint16_t known = state_at_[offset];
    if (known == kInside || (known != kUnreached && !meet(states_[known], state))) return true;
    return reach(offset, state);
  }

  bool follow_from(std::uint32_t offset) {
    // The lock prefix counts as an instruction of its own: glibc jumps behind it where there is one thread.
    if (code_[offset] == std::byte{0xf0}) return reach(offset + 1u, states_[state_at_[offset]]);
    PrologueInstruction in;
    const auto rest = code_.subspan(offset);
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder_, rest.data(), rest.size(), &in.decoded, in.operands)))
      return false;
    State state = states_[state_at_[offset]];
    const std::uint64_t next = std::uint64_t{offset} + in.decoded.length;
    for (std::uint64_t inside = offset + 1; inside < next; ++inside) {
      std::uint16_t& known = state_at_[static_cast<std::size_t>(inside)];
      if (known != kUnreached && known != kInside) return false;  // two readings of the same bytes
      if (known != kInside) set(known, kInside);
    }
    if (!state.rsp_known && changes_depth(in)) return false;
    switch (in.decoded.meta.category) {
      case ZYDIS_CATEGORY_RET:
        // The proof of the tracking: at a return, only the return address is left. Callers' rbp has to be
        // back too.
        if (!state.rsp_known || state.rsp_depth != 8 || !state.rbp_is_callers) return false;
        here_.returns = true;
        return true;
      case ZYDIS_CATEGORY_UNCOND_BR:
        if (const auto target = branch_target(in, next)) return reach(*target, state);
        // With nothing on the stack it may be a tail call, which says nothing about this function's code.
        if (!state.rsp_known || state.rsp_depth != 8) switches_.push_back(state);
        return true;
      case ZYDIS_CATEGORY_COND_BR: {
        const auto target = branch_target(in, next);
        return target && reach(*target, state) && reach(next, state);
      }
      case ZYDIS_CATEGORY_CALL:
        if (next < code_.size()) after_calls_.insert_or_assign(static_cast<std::uint32_t>(next), state);
        return true;
      default:
        break;
    }
    if (in.decoded.mnemonic == ZYDIS_MNEMONIC_UD2 || in.decoded.mnemonic == ZYDIS_MNEMONIC_HLT ||
        in.decoded.mnemonic == ZYDIS_MNEMONIC_INT3)
      return true;
    return apply(in, state) && reach(next, normal(state));
  }

  static bool changes_depth(const PrologueInstruction& in) {
    // After an alignment or alloca, pushes and pops count from an unknown place, which is harmless while rbp
    // marks the frame: rsp stays unknown. Only saving rbp relative to rsp must not happen.
    return in.decoded.mnemonic == ZYDIS_MNEMONIC_PUSH && in.is_register(0, ZYDIS_REGISTER_RBP);
  }

  // An offset from the function's start; beyond its end (also by wrapping) for other code. nullopt: through a
  // pointer.
  static std::optional<std::uint64_t> branch_target(const PrologueInstruction& in, std::uint64_t next) {
    const ZydisDecodedOperand& operand = in.operands[0];
    if (operand.type != ZYDIS_OPERAND_TYPE_IMMEDIATE || !operand.imm.is_relative) return std::nullopt;
    return next + static_cast<std::uint64_t>(operand.imm.value.s);
  }

  // The cases of a switch are reached through a table that we do not read. They start as the jump was left,
  // if all jumps of the function agree on that. One case at a time, as it may lead to the next.
  bool open_switch_target() {
    if (switches_.empty()) return false;
    const auto agrees = [&](const State& state) { return state == switches_.front(); };
    if (!std::all_of(switches_.begin(), switches_.end(), agrees)) return false;
    for (; switch_scan_ < code_.size(); ++switch_scan_) {
      if (state_at_[switch_scan_] != kUnreached) continue;
      PrologueInstruction in;
      const auto rest = code_.subspan(switch_scan_);
      const bool decoded =
          ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder_, rest.data(), rest.size(), &in.decoded, in.operands));
      if (decoded && in.decoded.mnemonic == ZYDIS_MNEMONIC_NOP) {
        switch_scan_ += in.decoded.length - 1u;  // padding before the target
        continue;
      }
      return decoded && reach(switch_scan_, switches_.front());
    }
    return false;
  }

  std::span<const std::byte> code_;
  ZydisDecoder decoder_;
  std::vector<State> states_;
  std::vector<std::uint16_t> state_at_;  // for each byte: index of states_, kUnreached or kInside
  std::vector<std::uint32_t> open_;      // reached, not yet followed
  std::map<std::uint32_t, State> after_calls_;
  std::vector<State> switches_;  // how jumps through a pointer were left
  std::size_t switch_scan_ = 0;

  // Of follow_start() alone.
  std::uint64_t budget_ = 0;                                   // instructions that may still be visited
  std::vector<std::pair<std::uint32_t, std::uint16_t>> undo_;  // what state_at_ held before, oldest first
  std::vector<std::uint64_t> leaves_to_;
  std::vector<std::uint32_t> reached_in_;   // the region that came to a byte first
  std::uint32_t regions_ = 0, number_ = 0;  // how many there were; the one that is followed now
  Region here_;                             // known so far
  bool returns_ = false;
};

}  // namespace

std::optional<std::vector<PrologueRow>> rows_from_code(std::span<const std::byte> code) {
  if (code.empty() || code.size() > kLargestFunction) return std::nullopt;
  Function function(code);
  if (!function.follow()) return std::nullopt;
  return function.rows();
}

std::optional<FollowedCode> rows_from_start(std::span<const std::byte> code) {
  if (code.empty() || code.size() > kLargestFunction) return std::nullopt;
  Function function(code);
  if (!function.follow_start()) return std::nullopt;
  return FollowedCode{function.rows(), function.returns(), function.leaves_to()};
}

}  // namespace fathom::arch
