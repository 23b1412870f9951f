// Looks at all threads during a recording, as `fathom stacks` makes them: waits alone do not show who holds a lock. What the last look
// found to be stuck is stored in the recording (analysis/stacks/kept_look.h), and reports begin with it.
//
// The last look is made a second before the time is up, because a launched command is ended with the recording. Ctrl-C ends such a
// command before fathom: so looks are made at doubling times, too, while threads wait for long. What the last of these found counts if
// the one near the end shows nothing, and none of its threads has run since, which the recorded waits show. A thread of its own makes
// them; a second look reads no file again.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "analysis/stacks/look.h"
#include "base/abandonable.h"
#include "binary/symbolize/worker.h"
#include "record/session/companion.h"

namespace fathom::cli {

// `look`: nullopt if no process could be looked at. `is_cut_short`: processes ended meanwhile, so it shows nothing.
struct MadeLook {
  std::optional<stacks::Look> look;
  bool is_cut_short = false;
};
// Looks at these processes; called from one thread at a time, not always the same, and may block.
using Looker = std::function<MadeLook(const std::vector<std::int32_t>& pids)>;
// At living processes. What it has read of files is kept from one call to the next.
Looker live_looker(symbolize::Options symbols);

class LookCompanion final : public session::Companion {
 public:
  // `duration_s`: of the recording; nullopt: it ends when it is asked to, and the last look is made then. `patience`: how long the end of
  // a recording may wait for the last look; one that takes longer is abandoned, and the recording says so.
  LookCompanion(Looker looker, std::optional<double> duration_s,
                std::chrono::nanoseconds patience = std::chrono::seconds(10))
      : looker_(std::move(looker)), duration_s_(duration_s), patience_(patience) {}
  // Waits a little for a look that was abandoned: the program is about to end, and with it what that thread works with.
  ~LookCompanion() override;

  void step(const Lent& lent, std::uint64_t now_ns) override;
  Save before_save(const Lent& lent, bool last) override;
  // A look is being made.
  bool is_looking() { return running_ && !running_->wait_until(0); }

 private:
  bool begin(const Lent& lent, const std::vector<model::Wait>& waits);
  bool take(std::uint64_t until_ns);
  void keep(const Lent& lent);

  Looker looker_;
  std::optional<double> duration_s_;
  std::chrono::nanoseconds patience_;
  double next_s_ = 2;  // after the start
  bool begun_last_ = false;
  std::optional<Abandonable<MadeLook>> running_;
  std::optional<stacks::Look> earlier_, last_;  // what is trouble in them; last_: the one near the end
  bool is_cut_short_ = false;                   // that one was
  std::vector<model::Wait> waits_;              // in progress at the time of earlier_, and over by now
};

}  // namespace fathom::cli
