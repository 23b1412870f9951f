#include "support/kernel_objects.h"

#include <linux/bpf.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/fd.h"

namespace fathom::support {
namespace {

std::set<std::uint32_t> existing(const std::set<std::uint32_t>& ids, bpf_cmd open_by_id) {
  std::set<std::uint32_t> found;
  for (const std::uint32_t id : ids) {
    bpf_attr attributes{};
    attributes.prog_id = id;  // link_id and map_id lie in the same place
    if (Fd(static_cast<int>(syscall(SYS_bpf, open_by_id, &attributes, sizeof(attributes))))) found.insert(id);
  }
  return found;
}

}  // namespace

KernelObjects objects_of(pid_t pid) {
  KernelObjects objects;
  std::error_code ignored;
  for (const auto& entry :
       std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/fdinfo", ignored)) {
    std::ifstream file(entry.path());
    for (std::string key; file >> key;) {
      std::uint32_t id = 0;
      if (key == "prog_id:" && file >> id) objects.programs.insert(id);
      if (key == "link_id:" && file >> id) objects.links.insert(id);
      if (key == "map_id:" && file >> id) objects.maps.insert(id);
    }
  }
  return objects;
}

KernelObjects still_there(const KernelObjects& objects) {
  return {existing(objects.programs, BPF_PROG_GET_FD_BY_ID), existing(objects.links, BPF_LINK_GET_FD_BY_ID),
          existing(objects.maps, BPF_MAP_GET_FD_BY_ID)};
}

}  // namespace fathom::support
