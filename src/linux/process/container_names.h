// What containers are called: engines keep that in state files, and their control groups have the ids alone. Source: the
// state of docker (containers/ID/config.v2.json), podman (overlay-containers/containers.json) and of containerd's bundles
// (the annotations of the OCI runtime specification's config.json that CRI and nerdctl set).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fathom::process {

struct ContainerName {
  std::string id, name;
  bool operator==(const ContainerName&) const = default;
};

// Of the engines of this machine, as far as their files can be read.
std::vector<ContainerName> read_container_names();

// In one state file; text that is none has none.
std::vector<ContainerName> names_in_docker_state(std::string_view json);
std::vector<ContainerName> names_in_podman_state(std::string_view json);
std::vector<ContainerName> names_in_containerd_bundle(std::string_view json, const std::string& id);

}  // namespace fathom::process
