// Which threads and processes have rows of their own in a recording, and which share one. Long recordings of
// machines that start hundreds of short-lived processes a second would otherwise be lists of these. The
// numbers are explained in src/record/session/WHY.md ("Short-lived processes and threads share rows").
#pragma once

#include <cstddef>
#include <cstdint>

namespace fathom::session {

struct RowLimits {
  // So many processes of one program, and so many threads of one name in one process, have rows of their own
  // whatever becomes of them. Those that are there when the recording begins always have.
  std::size_t own_processes = 250, own_threads = 1000;
  // Others get one once they have lived this long, or were seen (sampled, or in a wait) this often.
  std::uint64_t long_life_ns = 10'000'000'000;
  std::uint64_t many_events = 1000;
  // Above half of these, a long life alone does not earn a row. At these, anything new shares existing rows,
  // or that of "(others)".
  std::size_t most_processes = 1 << 16, most_threads = 1 << 17;
};

}  // namespace fathom::session
