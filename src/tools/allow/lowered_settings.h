// Kernel settings that are lower for a while. They come back when the owner gives them back, when its process dies (a guardian does
// it), and where both were killed at the next start: a journal says what was changed.
#pragma once

#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "linux/process/guardian_process.h"

namespace fathom::allow {

inline constexpr const char* kSettings = "/proc/sys";
inline constexpr const char* kJournal =
    "/run/fathom-allow";  // as the settings, it is gone after the next boot

struct Change {
  std::string file;  // /proc/sys/kernel/perf_event_paranoid
  int before = 0, lowered = 0;

  bool operator==(const Change&) const = default;
};

// "kernel.perf_event_paranoid"
std::string setting_name(const Change& change);

class LoweredSettings {
 public:
  // Puts back first what a killed owner left. `kernel`: also the kernel side of samples, with names. `settings` is /proc/sys. Only in a
  // process that has one thread yet (GuardianProcess). kSystem: another process holds the journal. kPermission: this user may not.
  // kNotFound: this kernel has no such setting. What was lowered before an error is put back.
  static Result<LoweredSettings> lower(const std::string& settings, bool kernel, const std::string& journal);
  LoweredSettings(LoweredSettings&&) noexcept = default;
  LoweredSettings& operator=(LoweredSettings&&) = delete;
  ~LoweredSettings();

  // Empty: every user may do that already.
  const std::vector<Change>& changes() const { return lowered_; }
  // The settings that others changed meanwhile, which stay as they are. An error: what could not be put back is in the journal.
  Result<std::vector<Change>> give_back();

 private:
  LoweredSettings(process::GuardianProcess guardian, Fd journal, std::string journal_path)
      : guardian_(std::move(guardian)),
        journal_(std::move(journal)),
        journal_path_(std::move(journal_path)) {}

  process::GuardianProcess guardian_;
  Fd journal_;  // locked while we live
  std::string journal_path_;
  std::vector<Change> lowered_;
};

// Puts back what a killed owner left in `journal`. How many settings that were; 0 where a living process holds them.
Result<int> put_back_leftovers(const std::string& journal);

}  // namespace fathom::allow
