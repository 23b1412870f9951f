#include "present/sentences/recorded_component_sentences.h"

#include "analysis/metrics/recorded_metrics.h"
#include "present/sentences/component_sentences.h"

namespace fathom::present {

std::vector<std::string> recorded_component_sentences(const model::Profile& profile) {
  const auto components = analysis::recorded_components(profile);
  return components ? sentences_of(*components) : std::vector<std::string>();
}

std::string recorded_component_headline(const model::Profile& profile) {
  const auto components = analysis::recorded_components(profile);
  return components ? component_headline(*components) : "";
}

}  // namespace fathom::present
