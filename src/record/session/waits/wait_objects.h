// What a wait was for: from the facts of the switch (system call, arguments, inode, fault address) to a row
// of the profile with a name that a person knows. Names are looked up in /proc right after the wait, and once
// per object.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "linux/events.h"
#include "linux/process/maps.h"
#include "model/profile.h"

namespace fathom::session {

class WaitObjects {
 public:
  explicit WaitObjects(model::Profile& profile) : profile_(profile) {}

  struct Found {
    model::WaitObjectId object;
    std::uint64_t argument = 0;  // Wait::argument
  };
  // `collective`: the process shares its row with others, so addresses, descriptors and pids are left out.
  Found find(const sources::Waited& wait, bool collective = false);
  // What is mapped at `address`; the argument is the page's offset in the file, or its address.
  Found page(std::int32_t pid, std::uint64_t address, std::uint64_t now_ns, bool collective = false);
  // The process has ended: its number may be reused.
  void forget(std::int32_t pid);

  // For tests: how much is remembered in addition to the rows.
  std::size_t remembered() const {
    return rows_.size() + texts_.size() + names_.size() + maps_.size() + of_process_.size();
  }

 private:
  using FileKey = std::pair<std::uint32_t, std::uint64_t>;  // device, inode
  model::WaitObjectId object(model::ObjectKind kind, std::string_view name, std::uint64_t address,
                             std::int32_t pid);
  // Of one process: of those that share a row, one for all.
  model::WaitObjectId own_object(bool collective, model::ObjectKind kind, std::string_view name,
                                 std::uint64_t address, std::int32_t pid) {
    return object(kind, name, collective ? 0 : address, collective ? 0 : pid);
  }
  model::WaitObjectId socket(const sources::Waited& wait);
  Found file(const sources::Waited& wait, bool collective);
  bool is_lock(const sources::Waited& wait);
  std::string file_name(const sources::Waited& wait);
  const process::MapEntry* mapping(std::int32_t pid, std::uint64_t address, std::uint64_t now_ns);

  struct Maps {
    std::vector<process::MapEntry> entries;
    std::uint64_t read_ns = 0, pause_ns = 0;  // until they may be read again
  };
  model::Profile& profile_;
  std::map<model::WaitObject, std::uint32_t> rows_;
  std::map<std::string, model::StringId, std::less<>> texts_;  // names of objects
  std::map<FileKey, std::string> names_;
  std::unordered_map<std::int32_t, Maps> maps_;
  std::unordered_map<std::int32_t, std::vector<model::WaitObject>> of_process_;  // keys of rows_, by pid
};

// Whether the socket takes connections, or messages of anyone. Of a datagram socket without a peer, which has no state
// that says so, only the port does: one that the kernel gave it is taken for one that waits for an answer.
bool listens(const sources::Waited& wait);

// "10.0.0.1:443", "[fe80::1]:443", "port 80, listening", "unix socket", "socket of family 16".
std::string peer_name(const sources::Waited& wait);

}  // namespace fathom::session
