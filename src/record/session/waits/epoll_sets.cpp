#include "record/session/waits/epoll_sets.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <optional>
#include <set>
#include <string>

#include "base/files.h"
#include "base/parse.h"
#include "linux/process/fields.h"

namespace fathom::session {
namespace {

constexpr std::size_t kMostSets = 64;      // of all processes
constexpr std::size_t kMostTargets = 128;  // of a set: the kinds of the first ones stand for all
constexpr std::size_t kLargestTable = 4 << 20;

// "0100007F:1F90": the port is what follows the last colon.
std::optional<std::uint32_t> port_of(std::string_view end) {
  const std::size_t colon = end.rfind(':');
  return colon == end.npos ? std::nullopt : parse_number<std::uint32_t>(end.substr(colon + 1), 16);
}

// The sockets of one network, read when the first one is asked for.
class Roles {
 public:
  explicit Roles(std::int32_t pid) : pid_(pid) {}
  std::optional<SocketRole> of(std::uint64_t inode) {
    if (!roles_) read();
    const auto found = roles_->find(inode);
    return found == roles_->end() ? std::nullopt : std::optional(found->second);
  }

 private:
  void read() {
    roles_.emplace();
    for (const char* name : {"tcp", "tcp6", "udp", "udp6"})
      if (const auto text = read_file(fmt::format("/proc/{}/net/{}", pid_, name), kLargestTable))
        roles_->merge(parse_socket_roles(*text));
    if (const auto text = read_file(fmt::format("/proc/{}/net/unix", pid_), kLargestTable))
      roles_->merge(parse_unix_roles(*text));
  }
  std::int32_t pid_;
  std::optional<std::map<std::uint64_t, SocketRole>> roles_;
};

void count_target(std::string_view link, Roles& roles, model::EpollSet& set) {
  constexpr std::string_view kSocket = "socket:[";
  if (link == "anon_inode:[timerfd]") {
    ++set.timers;
  } else if (link == "anon_inode:[eventfd]" || link == "anon_inode:[signalfd]") {
    ++set.wakers;
  } else if (link.starts_with(kSocket) && link.ends_with(']')) {
    const auto inode = parse_number(link.substr(kSocket.size(), link.size() - kSocket.size() - 1));
    const std::optional<SocketRole> role = inode ? roles.of(*inode) : std::nullopt;
    ++(!role                             ? set.others
       : *role == SocketRole::kConnected ? set.connected
       : *role == SocketRole::kAccepted  ? set.accepted
       : *role == SocketRole::kListening ? set.listening
                                         : set.others);
  } else {
    ++set.others;
  }
}

// One table for each network: the processes of a server are in the same one. 0: not known, a table for itself.
Roles& roles_of(std::int32_t pid, std::map<std::pair<ino_t, std::int32_t>, Roles>& of_network) {
  struct stat network {};
  const bool is_known = ::stat(fmt::format("/proc/{}/ns/net", pid).c_str(), &network) == 0;
  const std::pair key(is_known ? network.st_ino : ino_t{0}, is_known ? 0 : pid);
  return of_network.try_emplace(key, pid).first->second;
}

// nullopt: the process or the descriptor has gone.
std::optional<model::EpollSet> read_epoll_set(std::int32_t pid, std::uint64_t fd,
                                              std::map<std::pair<ino_t, std::int32_t>, Roles>& of_network) {
  const auto text = read_file(fmt::format("/proc/{}/fdinfo/{}", pid, fd), kLargestTable);
  if (!text) return std::nullopt;
  const std::vector<std::uint32_t> targets = parse_epoll_targets(*text, kMostTargets);
  if (targets.empty()) return std::nullopt;
  Roles& roles = roles_of(pid, of_network);
  model::EpollSet set;
  for (const std::uint32_t target : targets) {
    char link[PATH_MAX];
    const ssize_t length = ::readlink(fmt::format("/proc/{}/fd/{}", pid, target).c_str(), link, sizeof(link));
    if (length > 0) count_target({link, static_cast<std::size_t>(length)}, roles, set);
  }
  return set;
}

}  // namespace

std::vector<std::uint32_t> parse_epoll_targets(std::string_view text, std::size_t most) {
  std::vector<std::uint32_t> targets;
  std::string_view line;
  while (targets.size() < most && process::next_line(text, line)) {
    if (process::next_field(line) != "tfd:") continue;
    if (const auto target = parse_number<std::uint32_t>(process::next_field(line)))
      targets.push_back(*target);
  }
  return targets;
}

std::map<std::uint64_t, SocketRole> parse_socket_roles(std::string_view text) {
  struct Row {
    std::uint64_t inode;
    std::uint32_t local, peer;
  };
  std::vector<Row> rows;
  std::set<std::uint32_t> listening;
  std::string_view line;
  process::next_line(text, line);  // heads
  while (process::next_line(text, line)) {
    std::array<std::string_view, 10> fields;
    for (std::string_view& field : fields) field = process::next_field(line);
    const auto inode = parse_number(fields[9]);
    const auto local = port_of(fields[1]), peer = port_of(fields[2]);
    if (!inode || !local || !peer) continue;
    if (*peer == 0) listening.insert(*local);
    if (*inode != 0) rows.push_back({*inode, *local, *peer});
  }
  std::map<std::uint64_t, SocketRole> roles;
  for (const Row& row : rows)
    roles[row.inode] = row.peer == 0                   ? SocketRole::kListening
                       : listening.contains(row.local) ? SocketRole::kAccepted
                                                       : SocketRole::kConnected;
  return roles;
}

std::map<std::uint64_t, SocketRole> parse_unix_roles(std::string_view text) {
  constexpr std::uint32_t kAccepts = 0x10000;  // __SO_ACCEPTCON
  std::map<std::uint64_t, SocketRole> roles;
  std::set<std::uint64_t> nameless;
  std::string_view line;
  process::next_line(text, line);  // heads
  while (process::next_line(text, line)) {
    std::array<std::string_view, 8> fields;  // address, references, protocol, flags, type, state, inode, path
    for (std::string_view& field : fields) field = process::next_field(line);
    const auto flags = parse_number<std::uint32_t>(fields[3], 16);
    const auto inode = parse_number(fields[6]);
    if (!flags || !inode || *inode == 0) continue;
    constexpr std::string_view kConnectedState = "03";
    if ((*flags & kAccepts) != 0 || (!fields[7].empty() && fields[5] != kConnectedState))
      roles[*inode] = SocketRole::kListening;
    else if (!fields[7].empty())
      roles[*inode] = SocketRole::kAccepted;
    else
      nameless.insert(*inode);
  }
  for (const std::uint64_t inode : nameless)
    roles[inode] = nameless.contains(inode - 1) || nameless.contains(inode + 1) ? SocketRole::kPair
                                                                                : SocketRole::kConnected;
  return roles;
}

void EpollSets::update(model::Profile& profile) {
  for (; objects_ < profile.objects.size() && seen_.size() < kMostSets; ++objects_) {
    const model::WaitObject& object = profile.objects[objects_];
    if (object.kind == model::ObjectKind::kPoll && object.pid > 0)
      seen_.try_emplace({object.pid, object.address});
  }
  std::map<std::pair<ino_t, std::int32_t>, Roles> of_network;
  for (auto& [key, seen] : seen_) {
    if (++seen.updates < seen.next) continue;
    seen.next *= 2;
    if (const auto set = read_epoll_set(key.first, key.second, of_network))
      profile.meta.facts[model::epoll_set_fact(key.first, key.second)] = model::to_text(*set);
  }
}

}  // namespace fathom::session
