// fathom serve: targets that are recorded without end, their windows in a store, and endpoints for scrapers. It owns the threads of
// all of these; the caller owns signals and the terminal, and calls tick() about twice a second.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "linux/metrics/server.h"
#include "record/session/record_options.h"
#include "tools/serve/counters.h"
#include "tools/serve/governor.h"
#include "tools/serve/log_watch.h"
#include "tools/serve/meter.h"
#include "tools/serve/oom_count.h"
#include "tools/serve/retention.h"
#include "tools/serve/routes.h"
#include "tools/serve/store_lock.h"
#include "tools/serve/target.h"
#include "tools/serve/trigger.h"
#include "tools/serve/usage.h"
#include "tools/serve/worker.h"

namespace fathom::serve {

struct ServeOptions {
  std::string store;                 // the folder; made if it is missing
  std::vector<TargetPlan> targets;   // at least one, with different names
  session::RecordOptions recording;  // of each target
  std::uint64_t window_ns = 60'000'000'000;
  std::optional<metrics::Address> listen;  // nullopt: there are no endpoints
  std::string token;                       // required beyond loopback
  std::optional<double> budget;            // share of a core; nullopt: the rate stays as it is
  RetentionRule retention;
  std::vector<Trigger> triggers;  // of each target
  std::vector<LogWatch> logs;     // of all targets
};

class Service {
 public:
  // Listens and records when it returns. An error: nothing was started.
  static Result<std::unique_ptr<Service>> start(ServeOptions options);
  ~Service();  // ends the recordings and writes their last windows
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  void tick(std::uint64_t now_ns);
  // Keeps what was recorded in the minute before and will be in the minute after, whatever its age, and samples at the full rate until
  // then. Empty `target`: of all.
  void pin(const std::string& target, const std::string& reason);

  // /metrics has these figures from now on. They are asked for in another thread; what they come from outlives the service.
  void report_push(std::function<PushFigures()> figures);

  const metrics::Address* address() const { return server_ ? &server_->address() : nullptr; }
  // Sentences that came up since the last call: a window that could not be written, a target that could not be recorded, a pin.
  std::vector<std::string> take_sentences();
  // By target, for a line of status.
  std::map<std::string, TargetState> states() const;

 private:
  explicit Service(ServeOptions options) : options_(std::move(options)) {}
  Result<> listen();
  void begin_targets();
  void store(const std::string& target, model::Profile window);
  void look_at_triggers(std::uint64_t now_ns);
  void ask_for_waits(std::uint64_t now_ns);
  // `take` gets the rows of each recorded target since `from_ns`, in the worker of answers.
  void ask_targets(std::uint64_t from_ns, std::uint64_t now_ns,
                   const std::function<void(const std::string& name, const model::Profile& rows)>& take);
  bool is_pinned(const std::string& target, std::uint64_t from_unix_ns, std::uint64_t until_unix_ns) const;
  void govern(std::uint64_t now_ns);
  void age(std::uint64_t now_ns);
  void tell(std::string sentence);
  std::optional<metrics::Answer> handle(const metrics::Request& request, const metrics::LateAnswer& late);
  std::optional<metrics::Answer> handle_profile(const Route& route, bool with_body,
                                                const metrics::LateAnswer& late);
  metrics::Answer metrics_answer(const Route& route, const metrics::Request& request, bool with_body);
  Target* find(const std::string& name) const;
  std::string index_text() const;

  ServeOptions options_;
  metrics::Policy policy_;
  mutable std::mutex mutex_;  // of what follows
  std::map<std::string, TargetCounters> counters_;
  std::vector<std::string> sentences_;
  std::map<std::string, std::string> last_problems_;
  std::map<std::string, WaitP99> p99s_;        // that no trigger has seen yet, by target
  std::function<PushFigures()> push_figures_;  // empty: nothing is sent
  struct Pin {
    std::string target;
    std::uint64_t from_unix_ns = 0, until_unix_ns = 0;
    std::uint64_t reported_until_ns = 0;  // its end when the last sentence about it was printed
  };
  bool keep_pin(const Pin& pin);
  std::vector<Pin> pins_;                       // the newest ones
  std::atomic<std::size_t> unwritten_rows_{0};  // of windows that are not in the store yet
  std::atomic<std::size_t> asked_{0};           // profiles that clients asked for and do not have yet

  std::map<std::string, std::vector<TriggerWatch>> triggers_;
  std::map<std::string, Usage> usage_;
  std::map<std::string, OomCount> oom_counts_;
  std::uint64_t timed_ns_ = 0;  // when waits were asked for last, for their percentiles
  std::uint64_t full_rate_until_ns_ = 0;
  bool was_full_rate_ = false;  // in a part of the governor's period

  std::unique_ptr<Meter> meter_;  // memory of the targets' processes
  std::uint64_t metered_ns_ = 0, aged_ns_ = 0;
  std::optional<Governor> governor_;
  std::uint64_t governed_ns_ = 0;
  double spent_s_ = 0;            // when the governor looked last
  std::uint64_t recordings_ = 0;  // that had begun then
  bool began_before_ = false;     // one of them in the period before
  std::vector<StoreLock> locks_;  // of the targets' folders; outlive what writes there
  std::unique_ptr<Worker> store_worker_, answer_worker_;  // outlive targets and server
  std::vector<std::unique_ptr<Target>> targets_;
  std::unique_ptr<metrics::Server> server_;
};

}  // namespace fathom::serve
