// Which engine records: the best one that works here. "Works" is found out by doing, on the real targets and with
// exactly the capabilities that the recording will keep, what the engine will do when it starts. `record`,
// `record --dry-run` and `doctor` ask the same functions, so their answers are the same.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/capabilities.h"
#include "base/result.h"
#include "record/session/record_options.h"
#include "record/session/tracking/source.h"

namespace fathom::session {

std::string_view to_string(Engine engine);

// Best first; the one of the options where they name one.
std::vector<Engine> engines_for(const RecordOptions& options);

struct OpenedEngine {
  Engine engine = Engine::kAutomatic;
  std::unique_ptr<Source> source;  // opened; its start() was rehearsed
  CapabilitySet kept = 0;          // what the recording needs from now on (give_up_privileges)
};
// Opens it and rehearses its start for `targets`, which run or are held before their exec.
Result<OpenedEngine> open_engine(const RecordOptions& options, Engine engine,
                                 const std::vector<std::int32_t>& targets);

class EngineLadder {
 public:
  explicit EngineLadder(const RecordOptions& options);  // `options` outlives it

  // The next engine that works; those that do not become obstacles. The error of the last one if none is left.
  Result<OpenedEngine> next(const std::vector<std::int32_t>& targets);
  // The engine that next() gave failed all the same.
  void failed(Error error);
  // Why the better engines are not used.
  const std::vector<std::string>& obstacles() const { return obstacles_; }

 private:
  Error without_engine_option(Error error, const std::vector<std::int32_t>& targets) const;

  const RecordOptions& options_;
  std::vector<Engine> left_;  // best first
  std::vector<std::string> obstacles_;
  Error last_error_;
};

}  // namespace fathom::session
