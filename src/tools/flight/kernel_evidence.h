// The kernel's log of the time of a recording -> the piece of it that is about the recorded processes. Pure. The log is
// untrusted: any bytes give a piece, or none.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "tools/oom/records.h"

namespace fathom::flight {

struct AboutUs {
  std::set<std::int64_t> pids;  // as the kernel counts them
  std::string group;            // their control group, as the kernel names it; empty: not known
};

// Whether the record names one of `pids` as a victim. Of a kill in their group without the name of a victim: yes.
bool is_about(const oom::Record& record, const AboutUs& us);

// The lines of the last record that is about us; where there is none, of the last in our group. Empty: there is none.
// At most kMostText bytes: of a longer record the middle is left out, which is the table of other processes.
inline constexpr std::size_t kMostText = 32 * 1024;
std::string evidence_in(std::string_view log, const AboutUs& us);

// What was kept, read again: the record about us, else the last one. nullopt: it says nothing.
std::optional<oom::Record> read_evidence(std::string_view text, const AboutUs& us);

}  // namespace fathom::flight
