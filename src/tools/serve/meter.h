// The memory of the targets' processes, as fathom watch reads and serves it: a look every few seconds, in a thread of its own.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "linux/metrics/families.h"
#include "tools/serve/worker.h"
#include "tools/watch/exposition.h"
#include "tools/watch/history.h"
#include "tools/watch/look.h"

namespace fathom::serve {

class Meter {
 public:
  // Looks at the processes of each target; the families of each are there some milliseconds later. Does not wait.
  void look(std::map<std::string, std::vector<std::int32_t>> targets);
  // Of one target; empty `target`: of all.
  std::vector<metrics::Family> families(const std::string& target) const;

 private:
  struct Process {
    watch::Watched watched;
    watch::History history;
    watch::Places::Place place;
    std::optional<watch::View> view = {};
  };
  void look_now(const std::map<std::string, std::vector<std::int32_t>>& targets);
  void take_look(Process& process);

  // Of the worker's thread alone.
  std::map<std::int32_t, Process> processes_;
  watch::Places places_;
  bool busy_ = false;

  mutable std::mutex mutex_;
  std::map<std::string, std::vector<metrics::Family>> families_;
  Worker worker_;  // last: it uses all of the above
};

}  // namespace fathom::serve
