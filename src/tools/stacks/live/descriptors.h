// What is behind the descriptors of a process: the peers of its sockets and the holders of file locks. Sources: /proc/PID/net/tcp
// and its relatives, /proc/locks (proc(5)). Parsing is separate from reading.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "linux/events.h"

namespace fathom::stacks {

struct Socket {
  std::uint32_t family = 0;
  std::array<std::uint8_t, 16> peer_address = {};  // network order; of IPv4 the first four bytes
  std::uint32_t peer_port = 0, local_port = 0;     // a peer port of 0: it listens, or has no peer
  bool operator==(const Socket&) const = default;
};
// By inode. Lines of another form are left out. `wide`: of tcp6 and udp6.
std::map<std::uint64_t, Socket> parse_sockets(std::string_view text, bool wide);

struct FileLock {
  std::int32_t pid = 0;  // of the holder; -1: an open file description, which several processes may share
  bool waits = false;
  std::uint32_t major = 0, minor = 0;
  std::uint64_t inode = 0;
  bool operator==(const FileLock&) const = default;
};
// In the order of the text: a lock, then those that wait for it.
std::vector<FileLock> parse_locks(std::string_view text);
// Who holds the lock that `pid` waits for at this file.
std::optional<std::int32_t> lock_holder(const std::vector<FileLock>& locks, std::int32_t pid,
                                        std::uint64_t inode);

// Of one look: each file is read once, when it is first needed.
class Descriptors {
 public:
  // Sets family, peer and ports of a wait at a socket.
  void add_peer(sources::Waited& wait);
  std::optional<std::int32_t> file_lock_holder(std::int32_t pid, std::uint64_t inode);

 private:
  std::map<std::int32_t, std::map<std::uint64_t, Socket>> sockets_;  // by process
  std::optional<std::vector<FileLock>> locks_;
};

}  // namespace fathom::stacks
