#include "linux/process/container_names.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/files.h"

namespace fathom::process {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::size_t kMostState = 16u << 20, kMostContainers = 10'000;
constexpr std::string_view kDocker = "/var/lib/docker/containers";
constexpr std::string_view kPodman = "/var/lib/containers/storage/overlay-containers/containers.json";
constexpr std::string_view kContainerd = "/run/containerd/io.containerd.runtime.v2.task";

json parsed(std::string_view text) {
  return json::parse(text, nullptr, false);
}

std::string text_at(const json& object, const char* key) {
  if (!object.is_object()) return "";
  const auto row = object.find(key);
  return row != object.end() && row->is_string() ? row->get<std::string>() : "";
}

template <class Visit>
void for_each_folder(const fs::path& folder, const Visit& visit) {
  std::error_code error;
  std::size_t seen = 0;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end && seen < kMostContainers;
       entry.increment(error), ++seen)
    visit(entry->path());
}

}  // namespace

std::vector<ContainerName> names_in_docker_state(std::string_view text) {
  const json state = parsed(text);
  std::string id = text_at(state, "ID"), name = text_at(state, "Name");
  if (name.starts_with('/')) name.erase(0, 1);
  if (id.empty() || name.empty()) return {};
  return {{std::move(id), std::move(name)}};
}

std::vector<ContainerName> names_in_podman_state(std::string_view text) {
  std::vector<ContainerName> found;
  const json state = parsed(text);
  if (!state.is_array()) return found;
  for (const json& container : state) {
    const std::string id = text_at(container, "id");
    if (id.empty()) continue;
    const auto names = container.find("names");
    if (names == container.end() || !names->is_array()) continue;
    for (const json& name : *names)
      if (name.is_string()) found.push_back({id, name.get<std::string>()});
  }
  return found;
}

std::vector<ContainerName> names_in_containerd_bundle(std::string_view text, const std::string& id) {
  const json state = parsed(text);
  if (!state.is_object()) return {};
  const auto annotations = state.find("annotations");
  if (annotations == state.end()) return {};
  for (const char* key : {"io.kubernetes.cri.container-name", "nerdctl/name"})
    if (std::string name = text_at(*annotations, key); !name.empty()) return {{id, std::move(name)}};
  return {};
}

std::vector<ContainerName> read_container_names() {
  std::vector<ContainerName> names;
  const auto add = [&](std::vector<ContainerName> more) {
    names.insert(names.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  };
  for_each_folder(kDocker, [&](const fs::path& folder) {
    if (const auto text = read_file(folder / "config.v2.json", kMostState)) add(names_in_docker_state(*text));
  });
  if (const auto text = read_file(std::string(kPodman), kMostState)) add(names_in_podman_state(*text));
  for_each_folder(kContainerd, [&](const fs::path& space) {
    for_each_folder(space, [&](const fs::path& bundle) {
      if (const auto text = read_file(bundle / "config.json", kMostState))
        add(names_in_containerd_bundle(*text, bundle.filename().string()));
    });
  });
  return names;
}

}  // namespace fathom::process
