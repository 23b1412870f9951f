#include "tools/serve/service.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "linux/metrics/write_text.h"
#include "linux/process/status.h"
#include "tools/serve/answers.h"
#include "tools/serve/discovery.h"
#include "tools/serve/seconds.h"
#include "tools/serve/store.h"

#include <unistd.h>

namespace fathom::serve {
namespace {

constexpr std::uint64_t kMeterEvery = 5 * kSecondNs, kPercentileEvery = 10 * kSecondNs;
constexpr std::uint64_t kAgeEvery = 600 * kSecondNs;
constexpr std::uint64_t kLeastPeriodNs = 10 * kSecondNs;      // of the governor
constexpr std::size_t kMostSentences = 100, kMostPins = 100;  // pins: of each target
// A client that leaves does not take its request along, so the number of connections is no bound.
constexpr std::size_t kMostAsked = 64;
constexpr std::size_t kMostUnwrittenRows = 2'000'000;
constexpr std::uint64_t kPinnedNs = 60 * kSecondNs;  // before and after

double own_rss() {
  const auto status = process::read_status(::getpid());
  return status ? static_cast<double>(status->rss_anon + status->rss_file + status->rss_shmem) : 0;
}

}  // namespace

Result<std::unique_ptr<Service>> Service::start(ServeOptions options) {
  std::unique_ptr<Service> service(new Service(std::move(options)));
  for (const TargetPlan& plan : service->options_.targets) {
    auto lock = StoreLock::take(service->options_.store + "/" + plan.name);
    if (!lock) return tl::unexpected<Error>(lock.error());
    service->locks_.push_back(std::move(*lock));
  }
  service->store_worker_ = std::make_unique<Worker>();
  service->answer_worker_ = std::make_unique<Worker>();
  if (service->options_.listen) {
    service->meter_ = std::make_unique<Meter>();
    if (auto listening = service->listen(); !listening) return within("--listen", listening.error());
  }
  if (service->options_.budget) {
    const std::uint32_t most_hz = service->options_.recording.frequency_hz;
    service->governor_.emplace(GovernorOptions{.budget = *service->options_.budget,
                                               .most_hz = most_hz,
                                               .least_hz = std::min(GovernorOptions().least_hz, most_hz)});
  }
  service->begin_targets();
  return service;
}

// Requests end first, then the recordings, then what they have left to write.
Service::~Service() {
  std::unique_ptr<metrics::Server> server;
  {
    const std::lock_guard lock(mutex_);  // the server's thread may be in handle(), which uses it
    server = std::move(server_);
  }
  server.reset();
  targets_.clear();
  answer_worker_.reset();
  store_worker_.reset();
}

Result<> Service::listen() {
  metrics::ServerOptions server;
  server.address = *options_.listen;
  server.token = options_.token;
  server.most_connections = 64;
  server.late_deadline_ns = (kMostPullSeconds + 30) * kSecondNs;
  server.late_handler = [this](const metrics::Request& request, const metrics::LateAnswer& late) {
    return handle(request, late);
  };
  auto opened = metrics::Server::open(std::move(server));
  if (!opened) return tl::unexpected<Error>(opened.error());
  const std::lock_guard lock(mutex_);
  server_ = std::move(*opened);
  policy_ = {server_->address(), options_.token};
  return {};
}

void Service::begin_targets() {
  const std::lock_guard lock(mutex_);
  for (TargetPlan& plan : options_.targets) {
    const std::string name = plan.name;
    counters_[name];
    KeeperOptions keeper;
    keeper.window_ns = options_.window_ns;
    keeper.on_window = [this, name](model::Profile window) {
      const std::size_t rows = window.samples.size() + window.waits.size() + window.stacks.size();
      if (unwritten_rows_ != 0 && unwritten_rows_ + rows > kMostUnwrittenRows) {
        const std::lock_guard counting(mutex_);
        ++counters_[name].failed_windows;
        return tell(fmt::format(
            "a window of {} is lost: the disk of {} is too slow; try: a lower --freq, or another --store",
            name, options_.store));
      }
      unwritten_rows_ += rows;
      store_worker_->post([this, name, rows, window = std::make_shared<model::Profile>(std::move(window))] {
        store(name, std::move(*window));
        unwritten_rows_ -= rows;
      });
    };
    targets_.push_back(std::make_unique<Target>(std::move(plan), options_.recording, std::move(keeper)));
  }
}

void Service::tell(std::string sentence) {
  if (sentences_.size() < kMostSentences) sentences_.push_back(std::move(sentence));
}

std::vector<std::string> Service::take_sentences() {
  const std::lock_guard lock(mutex_);
  return std::exchange(sentences_, {});
}

void Service::report_push(std::function<PushFigures()> figures) {
  const std::lock_guard lock(mutex_);
  push_figures_ = std::move(figures);
}

std::map<std::string, TargetState> Service::states() const {
  std::map<std::string, TargetState> states;
  for (const auto& target : targets_) states[target->name()] = target->state();
  return states;
}

void Service::store(const std::string& target, model::Profile window) {
  const std::uint64_t start = window.meta.start_unix_ns;
  const bool pinned = is_pinned(target, start, start + (window.meta.end_ns - window.meta.start_ns));
  auto written = write_window(options_.store + "/" + target, window, pinned);
  const std::lock_guard lock(mutex_);
  TargetCounters& counters = counters_[target];
  ++(written ? counters.windows : counters.failed_windows);
  if (!written) tell(fmt::format("a window of {} is lost: {}", target, sentence_of(written.error())));
}

// The cost of the last period: fathom, and its programs in the kernel. A period in which a recording began says nothing about the rate:
// reading unwind tables takes longer than minutes of sampling. If one begins in each period, this is what fathom costs.
void Service::govern(std::uint64_t now_ns) {
  if (!governor_) return;
  const std::uint64_t period_ns = std::max<std::uint64_t>(options_.window_ns, kLeastPeriodNs);
  if (governed_ns_ != 0 && now_ns < governed_ns_ + period_ns) return;
  double spent_s = static_cast<double>(clock_ns(CLOCK_PROCESS_CPUTIME_ID)) * 1e-9;
  std::uint64_t recordings = 0;
  for (const auto& target : targets_) {
    const TargetState state = target->state();
    spent_s += static_cast<double>(state.kernel_ns) * 1e-9;
    recordings += state.recordings;
  }
  const double before_s = std::exchange(spent_s_, spent_s);
  const std::uint64_t from_ns = std::exchange(governed_ns_, now_ns);
  const bool began = std::exchange(recordings_, recordings) != recordings;
  if (from_ns == 0) return;
  if (began && !std::exchange(began_before_, began)) return;
  began_before_ = began;
  // What the full rate around a pin costs says nothing about the rate that the governor has chosen.
  if (std::exchange(was_full_rate_, now_ns < full_rate_until_ns_) || was_full_rate_) {
    if (!was_full_rate_)
      for (const auto& target : targets_) target->set_frequency(governor_->rate());
    return;
  }
  const double cost = std::max(spent_s - before_s, 0.0) / (static_cast<double>(now_ns - from_ns) * 1e-9);
  const bool was_beyond = governor_->is_beyond_reach();
  const std::uint32_t rate = governor_->period_ended(cost);
  for (const auto& target : targets_) target->set_frequency(rate);
  if (!governor_->is_beyond_reach() || was_beyond) return;
  const std::lock_guard lock(mutex_);
  tell(fmt::format("fathom uses {:.1f} % of a core at the lowest rate, more than --budget allows",
                   100 * cost));
}

bool Service::is_pinned(const std::string& target, std::uint64_t from_unix_ns,
                        std::uint64_t until_unix_ns) const {
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(pins_, [&](const Pin& pin) {
    return pin.target == target && pin.from_unix_ns < until_unix_ns && from_unix_ns < pin.until_unix_ns;
  });
}

// A log may match at every tick: its pins are one that grows. Returns whether to print a sentence, which is at most once in ten seconds.
bool Service::keep_pin(const Pin& pin) {
  const auto grown = std::ranges::find_if(pins_, [&](const Pin& known) {
    return known.target == pin.target && known.until_unix_ns >= pin.from_unix_ns &&
           known.from_unix_ns <= pin.from_unix_ns;
  });
  if (grown == pins_.end()) {
    pins_.push_back(pin);
    if (pins_.size() > kMostPins * targets_.size()) pins_.erase(pins_.begin());
    return true;
  }
  grown->until_unix_ns = std::max(grown->until_unix_ns, pin.until_unix_ns);
  const bool reports = pin.until_unix_ns >= grown->reported_until_ns + 10 * kSecondNs;
  if (reports) grown->reported_until_ns = pin.until_unix_ns;
  return reports;
}

void Service::pin(const std::string& target, const std::string& reason) {
  const std::uint64_t now = wall_clock_ns();
  full_rate_until_ns_ = monotonic_ns() + kPinnedNs;
  was_full_rate_ = true;
  for (const auto& each : targets_) each->set_frequency(options_.recording.frequency_hz);
  for (const auto& each : targets_) {
    if (!target.empty() && each->name() != target) continue;
    const Pin pin{each->name(), now - kPinnedNs, now + kPinnedNs, now + kPinnedNs};
    {
      const std::lock_guard lock(mutex_);
      if (keep_pin(pin))
        tell(fmt::format("{}: {}; the minute before and the minute after are kept", each->name(), reason));
    }
    // Windows that are there already get the name of a pinned one.
    store_worker_->post([folder = options_.store + "/" + pin.target, pin] {
      for (const StoredWindow& window :
           windows_of(windows_in(folder, true), {pin.from_unix_ns, pin.until_unix_ns}))
        pin_window(window);
    });
  }
}

// Percentiles are of the waits of ten seconds.
void Service::ask_for_waits(std::uint64_t now_ns) {
  const bool wanted = std::ranges::any_of(
      options_.triggers, [](const Trigger& trigger) { return trigger.what == Trigger::What::kP99; });
  if (!wanted || now_ns < timed_ns_ + kPercentileEvery) return;
  const std::uint64_t from = std::exchange(timed_ns_, now_ns);
  if (from == 0) return;
  ask_targets(from, now_ns, [this](const std::string& name, const model::Profile& rows) {
    const WaitP99 p99 = wait_p99(rows);
    const std::lock_guard lock(mutex_);
    p99s_[name] = p99;
  });
}

void Service::look_at_triggers(std::uint64_t now_ns) {
  for (LogWatch& log : options_.logs)
    if (const auto line = log.take()) pin("", *line);
  if (options_.triggers.empty()) return;
  for (const auto& target : targets_) {
    const TargetState state = target->state();
    // A target without processes uses nothing, not 0. But it may have none because it was killed.
    const bool runs = state.recording && !state.pids.empty();
    TriggerReading reading;
    if (runs) reading = usage_[target->name()].take(state.pids, now_ns);
    reading.oom_kills = oom_counts_[target->name()].take(runs ? state.pids : std::vector<std::int32_t>());
    {
      const std::lock_guard lock(mutex_);
      if (const auto p99 = p99s_.extract(target->name())) reading.p99_s = p99.mapped();
    }
    std::vector<TriggerWatch>& watches = triggers_[target->name()];
    if (watches.empty())
      for (const Trigger& trigger : options_.triggers) watches.emplace_back(trigger);
    for (TriggerWatch& watch : watches) {
      if (!runs && !watch.outlives_target()) continue;
      if (const auto reason = watch.take(reading)) pin(target->name(), *reason);
    }
  }
}

void Service::age(std::uint64_t now_ns) {
  if (aged_ns_ != 0 && now_ns < aged_ns_ + kAgeEvery) return;
  aged_ns_ = now_ns;
  store_worker_->post([this] {
    const Aged aged = age_store(options_.store, options_.retention, wall_clock_ns());
    const std::lock_guard lock(mutex_);
    for (const std::string& problem : aged.problems) tell(problem);
    if (aged.removed_pinned != 0)
      tell(fmt::format("removed {} of the oldest pinned windows: they were more than half of --max-size",
                       aged.removed_pinned));
  });
}

void Service::tick(std::uint64_t now_ns) {
  ask_for_waits(now_ns);
  look_at_triggers(now_ns);
  govern(now_ns);
  age(now_ns);
  std::map<std::string, std::vector<std::int32_t>> pids;
  for (const auto& target : targets_) {
    const TargetState state = target->state();
    if (state.recording) pids[target->name()] = state.pids;
    const std::lock_guard lock(mutex_);
    TargetCounters& counters = counters_[target->name()];
    counters.up = state.recording;
    counters.recordings = state.recordings;
    counters.lost = state.lost;
    counters.frequency_hz = target->frequency();
    std::string& last = last_problems_[target->name()];
    if (!state.problem.empty() && state.problem != last)
      tell(fmt::format("{}: {}", target->name(), state.problem));
    last = state.problem;
  }
  if (!meter_ || now_ns < metered_ns_ + kMeterEvery) return;
  const std::uint64_t from = std::exchange(metered_ns_, now_ns);
  meter_->look(pids);
  if (from == 0) return;
  ask_targets(from, now_ns, [this](const std::string& name, const model::Profile& rows) {
    TargetCounters more;
    add_stretch(more, rows);
    const std::lock_guard lock(mutex_);
    TargetCounters& counters = counters_[name];
    counters.cpu_s += more.cpu_s;
    counters.samples += more.samples;
    for (std::size_t i = 0; i < more.wait_s.size(); ++i) counters.wait_s[i] += more.wait_s[i];
  });
}

void Service::ask_targets(
    std::uint64_t from_ns, std::uint64_t now_ns,
    const std::function<void(const std::string& name, const model::Profile& rows)>& take) {
  for (const auto& target : targets_) {
    if (!target->state().recording) continue;
    target->ask({Cost::kTimes, from_ns, now_ns - from_ns,
                 [this, name = target->name(), take](std::optional<model::Profile> stretch) {
                   if (!stretch) return;
                   auto rows = std::make_shared<model::Profile>(std::move(*stretch));
                   answer_worker_->post([name, take, rows] { take(name, *rows); });
                 }});
  }
}

Target* Service::find(const std::string& name) const {
  if (name.empty()) return targets_.size() == 1 ? targets_.front().get() : nullptr;
  for (const auto& target : targets_)
    if (target->name() == name) return target.get();
  return nullptr;
}

std::string Service::index_text() const {
  std::string text = "fathom serve: /metrics, /sd";
  for (const auto& target : targets_) text += fmt::format(", /p/{}/debug/pprof/", target->name());
  return text + "\n";
}

std::optional<metrics::Answer> Service::handle(const metrics::Request& request,
                                               const metrics::LateAnswer& late) {
  const std::unique_lock lock(mutex_);
  if (!server_) return metrics::refusal(503);
  const Route route = route_of(request.target);
  metrics::Request allowed = request;
  if (route.kind == Route::Kind::kSymbol && request.method == "POST") allowed.method = "GET";
  if (auto refused = metrics::refusal_of(allowed, policy_)) return refused;
  const bool with_body = allowed.method == "GET";
  switch (route.kind) {
    case Route::Kind::kIndex:
      return text_answer(index_text(), with_body);
    case Route::Kind::kDiscovery: {
      std::vector<std::string> names;
      for (const auto& target : targets_) names.push_back(target->name());
      return json_answer(discovery_json(names, request.host, server_->address()), with_body);
    }
    case Route::Kind::kMetrics:
      return metrics_answer(route, request, with_body);
    case Route::Kind::kPprofIndex:
      return text_answer("allocs block heap mutex profile\n", with_body);
    case Route::Kind::kProfile:
      return handle_profile(route, with_body, late);
    case Route::Kind::kSymbol:  // names are in the profile, as far as they are known
      return text_answer("num_symbols: 1\n", with_body);
    case Route::Kind::kWrong:
      return error_answer(400, route.problem);
    case Route::Kind::kUnknown:
      break;
  }
  return error_answer(404, "there is no such page; / lists what there is");
}

metrics::Answer Service::metrics_answer(const Route& route, const metrics::Request& request, bool with_body) {
  std::map<std::string, TargetCounters> counters;
  for (const auto& [name, each] : counters_)
    if (route.target.empty() || route.target == name) counters.emplace(name, each);
  if (counters.empty()) return error_answer(404, "there is no such target; /sd lists them");
  std::vector<metrics::Family> families =
      families_of(counters, {static_cast<double>(clock_ns(CLOCK_PROCESS_CPUTIME_ID)) * 1e-9, own_rss(),
                             server_->served(), server_->refused()});
  if (push_figures_)
    for (metrics::Family& family : families_of(push_figures_())) families.push_back(std::move(family));
  for (metrics::Family& family : meter_->families(route.target)) families.push_back(std::move(family));
  const metrics::Format format = metrics::choose_format(request.accept);
  return metrics::make_answer(200, metrics::content_type(format), metrics::write_text(families, format),
                              with_body);
}

std::optional<metrics::Answer> Service::handle_profile(const Route& route, bool with_body,
                                                       const metrics::LateAnswer& late) {
  Target* target = find(route.target);
  if (target == nullptr)
    return error_answer(404, route.target.empty()
                                 ? "there are several targets: /p/NAME/debug/pprof/profile; /sd lists them"
                                 : "there is no such target; /sd lists them");
  const bool heap = route.cost == Cost::kHeap || route.cost == Cost::kAllocs;
  if (heap && options_.recording.heap == session::Heap::kNone)
    return error_answer(404, "the heap is not recorded: fathom serve --heap");
  if (!target->state().recording) return error_answer(503, "the target does not run, or cannot be recorded");
  if (!with_body) return profile_answer("", false);
  if (asked_ >= kMostAsked)
    return error_answer(503, "too many profiles are being recorded for clients; ask again in some seconds");
  ++asked_;
  const metrics::LateAnswer answer = [this, late](metrics::Answer whole) {
    --asked_;
    late(std::move(whole));
  };
  const Cost cost = route.cost;
  const std::uint64_t changes_ns = heap ? route.seconds * kSecondNs : 0;
  target->ask(
      {cost, 0, route.seconds * kSecondNs,
       [this, cost, late = answer, changes_ns, as_text = route.as_text](std::optional<model::Profile> rows) {
         if (!rows) return late(error_answer(503, "the target has ended, or cannot be recorded"));
         auto shared = std::make_shared<model::Profile>(std::move(*rows));
         answer_worker_->post([cost, late, as_text, changes_ns, shared] {
           if (as_text) return late(text_answer(text_of(*shared, cost), true));
           const auto bytes = pprof_of(*shared, cost, changes_ns);
           late(bytes ? profile_answer(*bytes, true) : error_answer(500, bytes.error().message));
         });
       }});
  return std::nullopt;
}

}  // namespace fathom::serve
