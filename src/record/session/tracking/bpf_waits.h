// Waits that are in progress, from the accounts that the BPF programs keep of threads: entered when the recording begins, summed
// while it lasts, cut when it ends.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "record/bpf/switches.h"
#include "record/session/tracking/process_table.h"
#include "record/session/tracking/source.h"

namespace fathom::session {

// The sums of one thread up to now, with what it does at the moment.
sources::ThreadWaitTime sums_of(std::int32_t tid, const thread_account& account, std::uint64_t now_ns);
// Its wait that is in progress or whose call has not returned, cut at `end_ns`; nullopt: there is none, or it was not walked.
std::optional<sources::Waited> open_wait(std::int32_t tid, const thread_account& account,
                                         std::uint64_t end_ns);

class BpfWaits final : public ThreadWaits {
 public:
  // Both outlive it.
  BpfWaits(sources::Switches& switches, const ProcessTable& processes)
      : switches_(switches), processes_(processes) {}

  void enter(std::int32_t pid, std::uint64_t now_ns, std::vector<sources::Event>& out) override;
  void sum(std::uint64_t now_ns, std::vector<sources::Event>& out) const override;
  void finish(std::uint64_t end_ns, std::vector<sources::Event>& out) override;

 private:
  struct Open {
    std::int32_t pid, tid;
    thread_account account;
  };
  void walk_open(std::uint64_t end_ns, std::vector<Open>& threads, std::vector<sources::Event>& out) const;
  template <class Visit>
  void for_each_account(const Visit& visit) const;

  sources::Switches& switches_;
  const ProcessTable& processes_;
};

}  // namespace fathom::session
