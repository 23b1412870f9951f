// What is in the epoll descriptors that threads wait at: for each a fact of the recording (model/epoll_set.h). Sources:
// /proc/PID/fdinfo, /proc/PID/fd, /proc/PID/net (proc(5)). Parsing is separate from reading.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "model/epoll_set.h"
#include "model/profile.h"

namespace fathom::session {

// Descriptors in an epoll set, from its fdinfo; at most `most`. Empty also if it is none.
std::vector<std::uint32_t> parse_epoll_targets(std::string_view text, std::size_t most);

enum class SocketRole : std::uint8_t { kConnected, kAccepted, kListening, kPair };
// By inode: of tcp, tcp6, udp or udp6. A socket is accepted if another one listens at its port.
std::map<std::uint64_t, SocketRole> parse_socket_roles(std::string_view text);
// Of unix. Both ends of socketpair() have no path, and inodes that follow each other.
std::map<std::uint64_t, SocketRole> parse_unix_roles(std::string_view text);

class EpollSets {
 public:
  // Once a second. Looks at each descriptor in the first second and then ever less often: sets change, and a look at a thousand
  // sockets takes milliseconds. A set of a process that has ended keeps what was seen last.
  void update(model::Profile& profile);

 private:
  struct Seen {
    std::uint32_t updates = 0, next = 1;
  };
  std::size_t objects_ = 0;                                      // of the profile that were looked at
  std::map<std::pair<std::int32_t, std::uint64_t>, Seen> seen_;  // by process and descriptor
};

}  // namespace fathom::session
