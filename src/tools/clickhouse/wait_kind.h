// What tells the waits of one stack apart: why they waited, and who ended them. As a part of a stack's row, it needs no columns in the
// large table of samples, and rows of tables without it stay readable. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "model/profile.h"

namespace fathom::clickhouse {

struct WaitKind {
  std::string cause;              // analysis::to_string(Cause): "futex", "run-queue"
  std::string waker;              // name of the thread that ended the wait; empty: none, or unknown
  std::uint64_t waker_stack = 0;  // StackRow::hash; 0: none
  // What the cause is found from, next to the stack: of model::Wait.
  model::WaitState state = model::WaitState::kOther;
  std::int32_t system_call = -1;
  model::ObjectKind object = model::ObjectKind::kNone;
  std::uint64_t operation = 0;  // of a futex
  bool timed_out = false;       // a poll that found nothing ready
  bool throttled = false;
  auto operator<=>(const WaitKind&) const = default;
};

// The last six fields as the text of one column, and back; nullopt: it is none.
std::string facts_text(const WaitKind& kind);
std::optional<WaitKind> read_facts(std::string_view text);

// Of `wait`; without cause, waker and its stack.
WaitKind wait_kind_of(const model::Profile& profile, const model::Wait& wait);
// The fields of the wait that the kind says. The object is a row of `profile`.
void apply(const WaitKind& kind, model::Profile& profile, model::Wait& wait);

}  // namespace fathom::clickhouse
