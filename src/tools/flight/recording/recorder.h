// The flight recorder: it stays outside the recorded processes and knows, after the kernel has killed one,
// why and what it was doing. Without Options::flight it only keeps the kernel's record of the death. With it
// the recording may last for weeks: rows are kept in rings (kept_rows.h), and the whole file is rewritten at
// each trigger (triggers.h), at intervals that grow from a second to ten minutes, and at the end. So the file
// is bounded, and a kill of the recorder loses only what came since the last write.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "record/session/companion.h"
#include "tools/flight/hold/hold_guardian.h"
#include "tools/flight/recording/kept_rows.h"
#include "tools/flight/recording/triggers.h"
#include "tools/flight/recording/wall_witness.h"
#include "tools/oom/kernel_log.h"

namespace fathom::flight {

struct Options {
  bool flight = false;
  TriggerOptions triggers = {};
  KeepLimits keep = {};
  // What a trigger may do to the target while fathom reads its state, at most once a second. Both need
  // `guardian`, which outlives the recorder.
  bool may_freeze = false, may_brake = false;
  HoldGuardian* guardian = nullptr;
};

class Recorder final : public session::Companion {
 public:
  explicit Recorder(Options options = {}) : options_(std::move(options)), kept_(options_.keep) {}
  ~Recorder() override { looked(); }

  // Once, before the recording begins and rights are given up. What cannot be had is done without. With Options::flight the
  // recorder walks stacks (RecordOptions::companions_walk).
  void open();
  void before_events(const Lent& lent, std::uint64_t now_ns) override;
  void step(const Lent& lent, std::uint64_t now_ns) override;
  Save before_save(const Lent& lent, bool last) override;

 private:
  struct Watched {
    explicit Watched(const TriggerOptions& options) : triggers(options) {}
    Triggers triggers;
    std::string events_path;  // of its control group: counts of allocations that met a limit
    int version = 0;
    std::optional<std::uint64_t> high_at_first, limit_at_first;
  };
  void read_log();
  void keep_kernel_record(const Lent& lent);
  void look_at(const Lent& lent, std::int32_t pid, std::uint64_t now_ns);
  void read_events(Watched& watched, Tick& tick) const;
  void hold_for_look(const Lent& lent, std::int32_t pid, std::uint64_t now_ns);
  void looked();  // what is held goes on
  void mark(const Lent& lent, std::uint64_t now_ns, const std::string& why);
  void tell(model::Profile& profile);
  void walk(const Lent& lent, const sources::CopiedStackSample& at_wall);
  void tell_wall(model::Profile& profile) const;

  Options options_;
  std::optional<oom::KernelLogTail> log_;
  std::string log_text_;
  std::uint64_t next_log_ns_ = 0;

  std::optional<WallWitness> witness_;
  struct AtWall {
    std::int32_t pid = 0, tid = 0;
    model::StackId stack;
  };
  std::optional<AtWall> at_wall_;  // the last one
  std::string wall_unseen_ = "no allocation of a recorded process was seen to meet the limit";  // else why

  std::optional<Hold> held_;
  std::uint64_t held_since_ns_ = 0, next_hold_ns_ = 0, holds_ = 0, longest_hold_ns_ = 0;
  bool hold_refused_ = false;

  KeptRows kept_;
  std::map<std::int32_t, Watched> watched_;
  std::deque<std::string> marks_;
  std::uint64_t earlier_marks_ = 0;  // that are not in marks_ any more
  std::uint64_t next_look_ns_ = 0;
  std::uint64_t write_at_ns_ = 0, again_at_ns_ = 0, write_every_ns_ = kSecondNs;
  std::uint64_t now_ns_ = 0;
  std::string note_;  // as it stands among the notes
};

}  // namespace fathom::flight
