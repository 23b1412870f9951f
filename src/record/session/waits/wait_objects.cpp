#include "record/session/waits/wait_objects.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <span>

#include "model/listening_socket.h"
#include "model/parked_lock.h"
#include "model/system_call.h"

namespace fathom::session {
namespace {

using model::ObjectKind;

// Beyond this, only the kind distinguishes objects: a server's clients come from ever new ports.
constexpr std::size_t kMaxObjects = 100'000;
// An address that is in no mapping has them read again, soon if that helped the last time: a program that
// has just started maps one file after the other.
constexpr std::uint64_t kShortestPauseNs = 10'000'000, kLongestPauseNs = 1'000'000'000;

constexpr std::array<std::uint8_t, 12> kMappedIpv4{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

// Inside the kernel a device number has 20 bits of minor.
dev_t user_device(std::uint32_t device) {
  return makedev(device >> 20, device & 0xfffff);
}

// With a timeout it is still a wait for that peer, or for anyone where the socket has none.
bool polls_one_socket(const sources::Waited& wait) {
  const std::string_view call = model::system_call_name(wait.system_call);
  return (call == "poll" || call == "ppoll" || call == "select" || call == "pselect6") && wait.inode != 0 &&
         wait.file_mode == S_IFSOCK &&
         (wait.socket_listens || ((wait.peer_family == AF_INET || wait.peer_family == AF_INET6) &&
                                  (wait.peer_port != 0 || wait.local_port != 0)));
}

// Linux gives such ports to sockets that asked for none (the default of ip_local_port_range). A UDP socket, which has no state that
// says more, sent a question from it and waits for the answer: no other program knows its port.
constexpr std::uint32_t kFirstGivenPort = 32768, kLastGivenPort = 60999;

std::string name_without_peer(const sources::Waited& wait) {
  return fmt::format("port {}, {}", wait.local_port, listens(wait) ? "listening" : "without a peer");
}

}  // namespace

bool listens(const sources::Waited& wait) {
  if (wait.socket_listens || model::system_call_name(wait.system_call).starts_with("accept")) return true;
  const bool is_internet = wait.peer_family == AF_INET || wait.peer_family == AF_INET6;
  if (!is_internet || wait.peer_port != 0 || wait.local_port == 0) return false;
  return wait.local_port < kFirstGivenPort || wait.local_port > kLastGivenPort;
}

std::string peer_name(const sources::Waited& wait) {
  char text[INET6_ADDRSTRLEN];
  switch (wait.peer_family) {
    case AF_INET: {
      if (wait.peer_port == 0) return name_without_peer(wait);
      ::inet_ntop(AF_INET, wait.peer_address.data(), text, sizeof(text));
      return fmt::format("{}:{}", text, wait.peer_port);
    }
    case AF_INET6:
      if (wait.peer_port == 0) return name_without_peer(wait);
      // A socket of both families has its IPv4 peers at ::ffff:0:0/96 (RFC 4291, 2.5.5.2).
      if (std::ranges::equal(kMappedIpv4, std::span(wait.peer_address).first(kMappedIpv4.size()))) {
        ::inet_ntop(AF_INET, wait.peer_address.data() + kMappedIpv4.size(), text, sizeof(text));
        return fmt::format("{}:{}", text, wait.peer_port);
      }
      ::inet_ntop(AF_INET6, wait.peer_address.data(), text, sizeof(text));
      return fmt::format("[{}]:{}", text, wait.peer_port);
    case AF_UNIX:
      return listens(wait) ? "unix socket, listening" : "unix socket";
    default:
      return fmt::format("socket of family {}", wait.peer_family);
  }
}

model::WaitObjectId WaitObjects::object(ObjectKind kind, std::string_view name, std::uint64_t address,
                                        std::int32_t pid) {
  const bool is_full = profile_.objects.size() >= kMaxObjects;
  model::WaitObject row{kind, {}, address, pid};
  auto text = texts_.find(name);
  if (text == texts_.end() && !is_full) text = texts_.emplace(name, profile_.strings.intern(name)).first;
  if (text != texts_.end()) {
    row.name = text->second;
    if (const auto known = rows_.find(row); known != rows_.end()) return {known->second};
  }
  if (is_full) {
    row = {kind, {}, 0, 0};
    if (const auto known = rows_.find(row); known != rows_.end()) return {known->second};
  }
  const auto number = static_cast<std::uint32_t>(profile_.objects.size());
  profile_.objects.push_back(row);
  rows_.emplace(row, number);
  if (row.pid != 0) of_process_[row.pid].push_back(row);
  return {number};
}

void WaitObjects::forget(std::int32_t pid) {
  maps_.erase(pid);
  const auto own = of_process_.find(pid);
  if (own == of_process_.end()) return;
  for (const model::WaitObject& row : own->second) rows_.erase(row);
  of_process_.erase(own);
}

// The target wrote the word: it is believed where a lock can be.
bool WaitObjects::is_lock(const sources::Waited& wait) {
  const process::MapEntry* entry =
      mapping(wait.pid, wait.lock_key, wait.out_ns + wait.waited_ns + wait.queued_ns);
  return entry != nullptr && entry->writable;
}

WaitObjects::Found WaitObjects::find(const sources::Waited& wait, bool collective) {
  if (wait.state == 0) return {};  // it wanted to run, and waited for nothing
  if (wait.system_call < 0) {
    if (wait.fault_address == 0) return {};
    return page(wait.pid, wait.fault_address, wait.out_ns + wait.waited_ns + wait.queued_ns, collective);
  }
  const std::string_view call = model::system_call_name(wait.system_call);
  if (wait.lock_key != 0 && !collective && is_lock(wait))
    return {object(ObjectKind::kFutex, model::kParkedLock, wait.lock_key, wait.pid), wait.arguments[1]};
  if (call == "futex" || call == "futex_wait")
    return {own_object(collective, ObjectKind::kFutex, "", wait.arguments[0], wait.pid),
            call == "futex" ? wait.arguments[1] : 0};
  if (call == "futex_waitv")
    return {own_object(collective, ObjectKind::kFutex, "", wait.arguments[0], wait.pid), wait.arguments[1]};
  if (call == "wait4" || call == "waitid")
    return {own_object(collective, ObjectKind::kProcess, "", wait.arguments[call == "waitid"], wait.pid), 0};
  if (model::takes_descriptor(wait.system_call)) return file(wait, collective);
  if (polls_one_socket(wait)) return {socket(wait), 0};
  return {};
}

std::string WaitObjects::file_name(const sources::Waited& wait) {
  const FileKey key{wait.device, wait.inode};
  if (const auto known = names_.find(key); known != names_.end()) return known->second;
  if (names_.size() >= kMaxObjects) names_.clear();  // a cache
  std::string& name = names_[key];
  const std::string link = fmt::format("/proc/{}/fd/{}", wait.pid, wait.arguments[0]);
  struct stat status {};
  char target[PATH_MAX];
  const ssize_t length = ::readlink(link.c_str(), target, sizeof(target));
  // The descriptor may mean another file by now: only the same inode is believed.
  if (length > 0 && ::stat(link.c_str(), &status) == 0 && status.st_ino == wait.inode)
    name.assign(target, static_cast<std::size_t>(length));
  else
    name = fmt::format("inode {} of device {}:{}", wait.inode, major(user_device(wait.device)),
                       minor(user_device(wait.device)));
  return name;
}

model::WaitObjectId WaitObjects::socket(const sources::Waited& wait) {
  return object(ObjectKind::kSocket, peer_name(wait), listens(wait) ? model::kListens : 0, 0);
}

WaitObjects::Found WaitObjects::file(const sources::Waited& wait, bool collective) {
  const std::string_view call = model::system_call_name(wait.system_call);
  if (wait.inode == 0) return {};
  switch (wait.file_mode) {
    case S_IFSOCK:
      return {socket(wait), wait.arguments[2]};
    case S_IFIFO:
      return {
          object(ObjectKind::kPipe, collective ? std::string() : fmt::format("pipe {}", wait.inode), 0, 0),
          wait.arguments[2]};
    case S_IFREG:
    case S_IFDIR:
    case S_IFBLK:
    case S_IFCHR:
      return {object(ObjectKind::kFile, file_name(wait), 0, 0),
              call.starts_with("f") ? 0 : wait.arguments[2]};
    default:  // an anonymous inode: epoll, eventfd, timerfd; all of them share one inode
      return {own_object(collective, ObjectKind::kPoll, "", wait.arguments[0], wait.pid), 0};
  }
}

const process::MapEntry* WaitObjects::mapping(std::int32_t pid, std::uint64_t address, std::uint64_t now_ns) {
  Maps& maps = maps_[pid];
  for (int attempt = 0; attempt < 2; ++attempt) {
    const auto after =
        std::ranges::upper_bound(maps.entries, ProcessAddress{address}, {}, &process::MapEntry::start);
    if (after != maps.entries.begin() && address < std::prev(after)->end.value) {
      if (attempt != 0) maps.pause_ns = kShortestPauseNs;
      return &*std::prev(after);
    }
    // Waits come in no strict order: one that ended before the last reading does not trigger another.
    if (attempt != 0 || now_ns < maps.read_ns + maps.pause_ns) break;
    maps.read_ns = now_ns;
    maps.pause_ns = std::clamp(2 * maps.pause_ns, kShortestPauseNs, kLongestPauseNs);
    auto entries = process::read_maps(pid);
    if (!entries) break;
    maps.entries = std::move(*entries);
  }
  return nullptr;
}

WaitObjects::Found WaitObjects::page(std::int32_t pid, std::uint64_t address, std::uint64_t now_ns,
                                     bool collective) {
  const process::MapEntry* entry = mapping(pid, address, now_ns);
  const std::uint64_t page_address = address & ~std::uint64_t{0xfff};
  if (entry == nullptr) return {own_object(collective, ObjectKind::kMemory, "", 0, pid), page_address};
  // Memory that is mapped to be shared with children (MAP_SHARED and MAP_ANONYMOUS) is a file of this name inside the kernel.
  if (entry->path == "/dev/zero" && entry->shared && entry->deleted)
    return {own_object(collective, ObjectKind::kMemory, "[shared memory]", 0, pid), page_address};
  if (!entry->is_file())
    return {own_object(collective, ObjectKind::kMemory, entry->path, 0, pid), page_address};
  return {object(ObjectKind::kMappedFile, entry->path, 0, 0),
          page_address - entry->start.value + entry->offset.value};
}

}  // namespace fathom::session
