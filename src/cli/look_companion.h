// One look at all threads near the end of a recording, as `fathom stacks` makes it: waits alone do not show who holds a lock. What it
// found to be stuck is stored in the recording (analysis/stacks/kept_look.h), and reports begin with it.
//
// The look is made on a thread of its own, a second before the time is up: a launched command is ended with the recording.
#pragma once

#include <cstdint>
#include <future>
#include <optional>
#include <vector>

#include "analysis/stacks/look.h"
#include "binary/symbolize/worker.h"
#include "record/session/companion.h"

namespace fathom::cli {

class LookCompanion final : public session::Companion {
 public:
  // `duration_s`: of the recording; nullopt: it ends when it is asked to, and the look is made then.
  LookCompanion(symbolize::Options symbols, std::optional<double> duration_s)
      : symbols_(std::move(symbols)), duration_s_(duration_s) {}

  void step(const Lent& lent, std::uint64_t now_ns) override;
  Save before_save(const Lent& lent, bool last) override;

 private:
  void begin(const Lent& lent, const std::vector<model::Wait>& waits);

  symbolize::Options symbols_;
  std::optional<double> duration_s_;
  std::uint64_t now_ns_ = 0;
  bool begun_ = false;
  std::future<std::optional<stacks::Look>> look_;
};

}  // namespace fathom::cli
