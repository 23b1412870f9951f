#include "linux/metrics/host_addresses.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "linux/metrics/helper_program.h"

namespace fathom::metrics {
namespace {

constexpr std::size_t kMostHostText = 64 << 10;
constexpr std::size_t kMostAddresses = 16;

bool is_numeric(const Address& address) {
  sockaddr_storage storage;
  socklen_t size = 0;
  return address.fill(storage, size);
}

}  // namespace

// A firewall that drops packets leaves a connection without an answer. TCP tries after 0, 1, 3 and 7 s.
std::uint64_t connect_deadline_ns(std::uint64_t now_ns, std::uint64_t deadline_ns, std::size_t addresses) {
  constexpr std::uint64_t kMostConnectNs = 10'000'000'000;
  if (addresses < 2 || deadline_ns <= now_ns) return deadline_ns;
  return now_ns + std::min((deadline_ns - now_ns) / addresses, kMostConnectNs);
}

std::vector<Address> addresses_in_getent(std::string_view text, std::uint16_t port) {
  std::vector<Address> found;
  while (!text.empty() && found.size() < kMostAddresses) {
    const std::string_view line = take_line(text);
    const Address address{"", std::string(line.substr(0, line.find_first_of(" \t"))), port};
    if (is_numeric(address) && std::find(found.begin(), found.end(), address) == found.end())
      found.push_back(address);
  }
  return found;
}

Result<std::vector<Address>> addresses_of_host(const std::string& host, std::uint16_t port,
                                               std::uint64_t deadline_ns, int stop) {
  Address numeric{"", host == "localhost" ? "127.0.0.1" : host, port};
  if (is_numeric(numeric)) return std::vector<Address>{std::move(numeric)};
  std::string text;
  const auto end = run_helper({{"getent", "ahosts", host}}, deadline_ns, stop, [&](std::string_view piece) {
    text += piece;
    return text.size() < kMostHostText;
  });
  if (!end && end.error().kind == ErrorKind::kNotFound)
    return fail(ErrorKind::kNotFound,
                fmt::format("{}: looking up a name needs the program getent, which is not installed", host),
                "the numeric address of the host");
  if (!end) return within(host, end.error());
  auto found = addresses_in_getent(text, port);
  if (found.empty())
    return fail(ErrorKind::kNotFound, fmt::format("{}: cannot find an address for this name", host),
                fmt::format("getent ahosts {}, or the numeric address of the host", host));
  return found;
}

}  // namespace fathom::metrics
