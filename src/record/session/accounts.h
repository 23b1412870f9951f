// What a recording says of itself: what was lost and not sampled, its own cost, other load on the machine.
#pragma once

#include <cstdint>
#include <map>

#include "linux/process/machine_time.h"
#include "model/profile.h"
#include "record/session/names.h"
#include "record/session/notes.h"
#include "record/session/own_cost.h"
#include "record/session/record_options.h"
#include "record/session/tracking/engine_run.h"
#include "record/session/waits/epoll_sets.h"

namespace fathom::session {

class Accounts {
 public:
  // All outlive it.
  Accounts(const RecordOptions& options, model::Profile& profile, EngineRun& engine, const Names& names)
      : options_(options), profile_(profile), engine_(engine), names_(names) {}

  // What fathom used up to begun() is its start, and after ended() the completion of the file.
  void starts() { machine_before_ = process::read_machine_time(); }
  void begun() {
    own_cost_.begun(own_cpu());
    account_block_reads();
  }
  void ended() { own_cost_.ended(own_cpu()); }

  // Before each save; `last`: the recording ends.
  void update(bool last);

 private:
  OwnCpu own_cpu() const;
  void count_losses(bool last);
  void note_shared_rows(bool last);
  void account_samples();
  void account_own_cost();
  void account_machine();
  void account_block_reads();
  void account_resources(bool last);

  const RecordOptions& options_;
  model::Profile& profile_;
  EngineRun& engine_;
  const Names& names_;
  OwnCost own_cost_;
  Result<process::MachineTime> machine_before_ = process::MachineTime{};
  ChangingNote shared_rows_note_;
  std::map<std::int32_t, std::uint64_t> read_before_;  // by pid: bytes, when it was first seen
  EpollSets epoll_sets_;
  std::uint64_t updates_ = 0;
  std::uint64_t shared_rows_noted_ = 0;  // processes and threads, when it was written
};

}  // namespace fathom::session
