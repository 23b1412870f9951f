#include "record/session/calls/call_book.h"

namespace fathom::session {

void CallBook::take(std::span<const sources::ProbeReading> readings, std::uint64_t now_ns,
                    const Lookups& lookups, bool last, std::vector<model::Calls>& rows) {
  for (const auto& [key, account] : readings) {
    if (key.probe >= probes_.size()) continue;
    const auto [found, is_new] = known_.try_emplace({key.pid, key.probe, key.stack_id});
    Known& known = found->second;
    if (is_new) known.process = lookups.process(static_cast<std::int32_t>(key.pid));
    if (!known.stack && key.stack_id != 0) {
      known.stack = lookups.stack(key.stack_id);
      if (!known.stack && !last) continue;
    }
    // A call ends between two readings of its account, so each sum is compared by itself.
    const probe_account& before = known.booked;
    if (account.calls == before.calls && account.returned == before.returned && account.sized == before.sized)
      continue;
    model::Calls row;
    row.time_ns = now_ns;
    row.function = probes_[key.probe].function;
    row.timed = probes_[key.probe].timed;
    row.process = known.process;
    if (known.stack) {
      row.stack = known.stack->stack;
      row.end = known.stack->end;
    }
    row.calls = account.calls - before.calls;
    row.counted_only = account.counted_only - before.counted_only;
    row.returned = account.returned - before.returned;
    row.total_ns = account.total_ns - before.total_ns;
    row.longest_ns = account.longest_ns;
    row.sized = account.sized - before.sized;
    row.bytes = account.bytes - before.bytes;
    rows.push_back(row);
    known.booked = account;
  }
}

}  // namespace fathom::session
