// The rows of processes and threads during recording: which have their own, which share one with others of
// their program, and which rows have changed since they were written. The number of rows is bounded however
// many processes and threads come and go (RowLimits), and a second's writing depends on what has changed in
// it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "model/profile.h"
#include "model/store/changed_rows.h"
#include "record/session/tracking/row_limits.h"

namespace fathom::session {

// The current data of a process or a thread.
struct Life {
  std::uint64_t lived_ns = 0;
  std::uint64_t events = 0;  // samples and waits
};

struct ProcessFacts {
  std::int32_t pid = 0, parent_pid = 0;
  std::uint64_t start_ns = 0;
  std::string_view name, executable;
  // It was there when the recording began, or is what was asked for: its row is its own.
  bool always_own = false;
};

struct ThreadFacts {
  std::int32_t tid = 0;
  std::uint64_t start_ns = 0;
  std::string_view name;
};

class RowBook {
 public:
  template <class IdType>
  struct Row {
    IdType id;
    bool shared = false;
  };
  using ProcessRow = Row<model::ProcessId>;
  using ThreadRow = Row<model::ThreadId>;

  explicit RowBook(model::Profile& profile, const RowLimits& limits = {})  // `profile` outlives the book
      : profile_(profile), limits_(limits) {}

  // The row of a process without one, or with a shared one. Shared rows count their users.
  ProcessRow assign(const ProcessFacts& facts, const Life& life);
  // The row of a thread whose process has `process`.
  ThreadRow assign(const ProcessRow& process, const ThreadFacts& facts, const Life& life);
  // Has one that shares its row deserved its own by now?
  bool deserves_own_process(const Life& life) const;
  bool deserves_own_thread(const Life& life) const;

  // A process with a row of its own runs another program. False: that one's processes share a row already;
  // the process has none until it is assigned again.
  bool executes(const ProcessRow& row, const ProcessFacts& facts, std::uint64_t time_ns);
  void set_executable(const ProcessRow& row, std::string_view executable);
  void rename(const ThreadRow& row, std::string_view name);
  void end(const ProcessRow& row, std::uint64_t time_ns);
  void end(const ThreadRow& row, std::uint64_t time_ns);
  // Threads of this process are no longer looked up.
  void forget(const ProcessRow& row);

  model::Process& change(model::ProcessId row);
  model::Thread& change(model::ThreadId row);

  // How many of them share rows.
  struct Shared {
    std::uint64_t processes = 0, threads = 0;
  };
  Shared shared() const { return shared_; }
  // At the end: names of shared rows say exactly how many processes they stand for. Until then they say
  // "cc1plus (1,024 processes or more)": a new name for each of them would be a new text in the file.
  void name_shared_rows();

  // Since the last written().
  const store::ChangedRows& changed();
  void written();

  // For tests: how much is remembered in addition to the rows.
  std::size_t remembered() const;

 private:
  struct Kin {  // processes of one program, or threads of one name in one process
    std::size_t own = 0;
    std::optional<std::uint32_t> shared;
    std::uint64_t sharing = 0;
  };
  bool has_room_for_own(std::size_t rows, std::size_t most) const { return rows < most - most / 4; }
  bool deserves_own(const Life& life, std::size_t rows, std::size_t most) const;
  ProcessRow own(const ProcessFacts& facts);
  ProcessRow others();
  ProcessRow share(std::string_view name, Kin& kin);
  std::uint32_t new_thread(const ProcessRow& process, std::string_view name);

  model::Profile& profile_;
  RowLimits limits_;
  using KinByName = std::map<std::string, Kin, std::less<>>;
  KinByName programs_;  // by name: that of the executable comes later than the first event of a program
  std::unordered_map<std::uint32_t, KinByName> threads_;  // by process row
  Kin others_;
  std::optional<model::ThreadId> other_threads_;
  Shared shared_;
  store::ChangedRows changed_;
  std::vector<bool> process_changed_, thread_changed_;
};

}  // namespace fathom::session
