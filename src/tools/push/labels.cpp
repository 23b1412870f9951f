#include <unistd.h>

#include <array>

#include "base/text.h"
#include "model/facts.h"
#include "model/resource_facts.h"
#include "tools/push/destination.h"
#include "tools/serve/upgrade.h"

namespace fathom::push {
namespace {

// "redis-server (pid 12)", "cc1plus -O2 x.cpp", "/usr/bin/redis-server": the program.
std::string program_of(const std::string& target) {
  const std::string_view first = std::string_view(target).substr(0, target.find(' '));
  return std::string(base_name(first));
}

std::string this_host() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return {};
  return name.data();
}

}  // namespace

Labels labels_of(const model::Profile& profile, const Labels& named) {
  Labels labels = named;
  if (labels.service.empty()) labels.service = model::resource_attribute(profile.meta, "service.name");
  if (labels.service.empty()) labels.service = program_of(profile.meta.target);
  if (labels.service.empty()) labels.service = "unknown";
  if (labels.host.empty()) labels.host = model::facts_of<model::OriginFacts>(profile.meta).host;
  if (labels.host.empty()) labels.host = this_host();
  if (labels.version.empty()) labels.version = model::resource_attribute(profile.meta, "service.version");
  if (labels.version.empty()) labels.version = serve::build_id_of(profile);
  return labels;
}

}  // namespace fathom::push
