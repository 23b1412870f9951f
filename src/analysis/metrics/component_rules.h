// Which metric of a program reports which component's memory: rules as text, in metric_rules.txt.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace fathom::analysis {

extern const std::string_view kMetricRulesText;

enum class MetricMeaning : std::uint8_t {
  kBytes,  // memory that a component holds
  kCount,  // things that a component holds
  kAll,    // of the allocator as a whole
  kFile,   // bytes of files: no heap
};

struct ComponentRule {
  MetricMeaning meaning = MetricMeaning::kBytes;
  std::string component;            // "RocksDB memtables"; of kAll "live", "active" ...
  std::vector<std::string> crates;  // that own its heap sites
  std::vector<std::string> globs;
  std::uint64_t unusual_bytes = 0;  // of kBytes: as much is likely a bug; 0: no such size is known
};

class ComponentRules {
 public:
  static Result<ComponentRules> parse(std::string_view text, const std::string& name);
  static const ComponentRules& built_in();
  // Of a series by its name, with or without labels. null: none.
  const ComponentRule* find(std::string_view series) const;
  const std::vector<ComponentRule>& rules() const { return rules_; }

 private:
  std::vector<ComponentRule> rules_;
};

}  // namespace fathom::analysis
