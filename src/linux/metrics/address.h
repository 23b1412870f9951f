// Where metrics are served or fetched: a numeric address with a port, or a socket in the file system. Pure but for the
// reading of a token's file.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace fathom::metrics {

struct Address {
  std::string path;  // of a Unix socket; empty: host and port
  std::string host;  // "127.0.0.1", "::1": numeric, so that no name has to be resolved
  std::uint16_t port = 0;
  bool is_unix() const { return !path.empty(); }
  bool is_loopback() const;
  std::string to_string() const;  // "127.0.0.1:9101", "[::1]:9101", "unix:/run/fathom.sock"
  // For bind() and connect(); of host and port. False: `host` is no numeric address.
  bool fill(sockaddr_storage& storage, socklen_t& size) const;
  bool operator==(const Address&) const = default;
};

// "127.0.0.1:9101", "[::1]:9101", "localhost:9101", "unix:PATH". kUsage: anything else.
Result<Address> parse_address(std::string_view text);

// A secret that a client must present: the first line of a file that belongs to this user or root and that
// other users cannot read (mode 0600); 16 to 1,024 printable characters without blanks.
Result<std::string> read_token(const std::string& path);
// Takes the same time for any position of the first difference.
bool equal_in_constant_time(std::string_view given, std::string_view secret);

}  // namespace fathom::metrics
