#include "tools/stacks/live/descriptors.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cstring>
#include <utility>

#include "base/files.h"
#include "base/parse.h"
#include "linux/process/fields.h"

namespace fathom::stacks {
namespace {

// "0100007F:1F90": words of 32 bits in the processor's own order, each eight digits.
bool parse_end(std::string_view text, bool wide, std::array<std::uint8_t, 16>& address, std::uint32_t& port) {
  const std::size_t digits = wide ? 32 : 8;
  if (text.size() != digits + 5 || text[digits] != ':') return false;
  for (std::size_t at = 0; at < digits; at += 8) {
    const auto word = parse_number<std::uint32_t>(text.substr(at, 8), 16);
    if (!word) return false;
    std::memcpy(address.data() + at / 2, &*word, sizeof(*word));
  }
  const auto number = parse_number<std::uint32_t>(text.substr(digits + 1), 16);
  if (!number) return false;
  port = *number;
  return true;
}

}  // namespace

std::map<std::uint64_t, Socket> parse_sockets(std::string_view text, bool wide) {
  std::map<std::uint64_t, Socket> sockets;
  std::string_view line;
  process::next_line(text, line);  // heads
  while (process::next_line(text, line)) {
    std::array<std::string_view, 10> fields;
    for (std::string_view& field : fields) field = process::next_field(line);
    Socket socket;
    socket.family = wide ? AF_INET6 : AF_INET;
    std::array<std::uint8_t, 16> local;
    const auto inode = parse_number(fields[9]);
    if (!inode || *inode == 0 || !parse_end(fields[1], wide, local, socket.local_port) ||
        !parse_end(fields[2], wide, socket.peer_address, socket.peer_port))
      continue;
    sockets[*inode] = socket;
  }
  return sockets;
}

std::vector<FileLock> parse_locks(std::string_view text) {
  std::vector<FileLock> locks;
  std::string_view line;
  while (process::next_line(text, line)) {
    // "1: FLOCK  ADVISORY  WRITE 1234 08:01:5678 0 EOF", and "1: -> FLOCK ..." of one that waits.
    process::next_field(line);
    FileLock lock;
    std::string_view field = process::next_field(line);
    lock.waits = field == "->";
    if (lock.waits) field = process::next_field(line);
    process::next_field(line);
    process::next_field(line);
    const std::string_view pid = process::next_field(line);
    std::string_view place = process::next_field(line);
    const std::size_t first = place.find(':'), last = place.rfind(':');
    if (first == std::string_view::npos || first == last) continue;
    const auto number = parse_number<std::int32_t>(pid);
    const auto major = parse_number<std::uint32_t>(place.substr(0, first), 16);
    const auto minor = parse_number<std::uint32_t>(place.substr(first + 1, last - first - 1), 16);
    const auto inode = parse_number(place.substr(last + 1));
    if (!major || !minor || !inode) continue;
    lock.pid = number.value_or(-1);
    lock.major = *major;
    lock.minor = *minor;
    lock.inode = *inode;
    locks.push_back(lock);
  }
  return locks;
}

std::optional<std::int32_t> lock_holder(const std::vector<FileLock>& locks, std::int32_t pid,
                                        std::uint64_t inode) {
  std::optional<std::int32_t> holder;
  for (const FileLock& lock : locks) {
    if (!lock.waits)
      holder = lock.inode == inode && lock.pid > 0 ? std::optional(lock.pid) : std::nullopt;
    else if (lock.pid == pid && lock.inode == inode && holder)
      return holder;
  }
  return std::nullopt;
}

void Descriptors::add_peer(sources::Waited& wait) {
  if (wait.file_mode != S_IFSOCK) return;
  const auto [known, is_new] = sockets_.try_emplace(wait.pid);
  if (is_new) {
    // The process may have a network of its own.
    for (const auto& [name, wide] :
         {std::pair("tcp", false), {"tcp6", true}, {"udp", false}, {"udp6", true}}) {
      if (const auto text = read_file(fmt::format("/proc/{}/net/{}", wait.pid, name)))
        known->second.merge(parse_sockets(*text, wide));
    }
  }
  const auto socket = known->second.find(wait.inode);
  if (socket == known->second.end()) {
    wait.peer_family = AF_UNIX;
    return;
  }
  wait.peer_family = socket->second.family;
  wait.peer_address = socket->second.peer_address;
  wait.peer_port = socket->second.peer_port;
  wait.local_port = socket->second.local_port;
}

std::optional<std::int32_t> Descriptors::file_lock_holder(std::int32_t pid, std::uint64_t inode) {
  if (!locks_) {
    const auto text = read_file("/proc/locks");
    locks_ = text ? parse_locks(*text) : std::vector<FileLock>();
  }
  return lock_holder(*locks_, pid, inode);
}

}  // namespace fathom::stacks
