// Did recording change how fast the target works? `record --baseline SECONDS` counts its work before recording begins and while
// it records: a counter of its own metrics, or else the calls with which it reads and writes, which the kernel counts for
// every process. Both rates vary by themselves, and are compared as fathom diff compares (analysis/diff/estimate.h).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/diff/estimate.h"
#include "base/fd.h"
#include "base/result.h"
#include "linux/metrics/scraper.h"
#include "record/session/companion.h"

namespace fathom::cli {

// What a counter did from one look to the next: steps of about a second each.
class WorkRates {
 public:
  void add(std::uint64_t time_ns, double counter);
  const std::vector<std::int64_t>& steps() const { return steps_; }
  double seconds() const { return seconds_; }

 private:
  std::optional<std::uint64_t> before_ns_;
  double before_ = 0, seconds_ = 0;
  std::vector<std::int64_t> steps_;  // per second, in thousandths
};

// Per second, of both; nothing where one of them has less than five steps.
std::optional<analysis::Change> change_of_work(const WorkRates& before, const WorkRates& during);

// "the target did 12,300 requests_total per second before recording and 12,150 while it was recorded (-1.2 % ± 3.0): no
// difference beyond what it varies by itself".
std::string sentence_of_work(const std::string& name, const std::optional<analysis::Change>& change);

// Reads the counter.
class WorkWatch {
 public:
  // kNotFound: no series is called so. `url` and `work` empty: calls that read and write, of all `pids` together.
  static Result<WorkWatch> start(const std::vector<std::int32_t>& pids, const std::string& url,
                                 const std::string& work);
  // nullopt: nothing new can be had. Does not wait.
  struct Reading {
    std::uint64_t time_ns;
    double value;
  };
  std::optional<Reading> read(std::uint64_t now_ns);
  const std::string& name() const { return name_; }

 private:
  std::vector<Fd> files_;  // /proc/PID/io, opened while we may
  std::unique_ptr<metrics::Scraper> scraper_;
  std::string name_;
  std::uint64_t scraped_ns_ = 0;
};

// Looks for `baseline_s` when it is made, which waits for so long.
class WorkCompanion final : public session::Companion {
 public:
  WorkCompanion(WorkWatch watch, double baseline_s);

  void step(const Lent& lent, std::uint64_t now_ns) override;
  Save before_save(const Lent& lent, bool last) override;

  const std::string& sentence() const {
    return sentence_;
  }  // from the last save on; a note of the recording, too

 private:
  WorkWatch watch_;
  WorkRates before_, during_;
  std::uint64_t next_look_ns_ = 0;
  std::string sentence_;
};

}  // namespace fathom::cli
