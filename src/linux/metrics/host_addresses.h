// A host's name to its addresses. The static executable cannot load the name services of the C library, so the program getent,
// which is part of that library's package, looks the name up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "linux/metrics/address.h"

namespace fathom::metrics {

// At least one, in the order of preference. A numeric address and "localhost" need no program. kNotFound: an unknown name.
Result<std::vector<Address>> addresses_of_host(const std::string& host, std::uint16_t port,
                                               std::uint64_t deadline_ns, int stop);

// Until when to wait for a connection to one of `addresses` that are left, so that there is time for the others: each has the same
// share of the time, and at most 10 s if others follow. Pure; both times are CLOCK_MONOTONIC.
std::uint64_t connect_deadline_ns(std::uint64_t now_ns, std::uint64_t deadline_ns, std::size_t addresses);

// The addresses in what getent prints, each once. Pure.
std::vector<Address> addresses_in_getent(std::string_view text, std::uint16_t port);

}  // namespace fathom::metrics
