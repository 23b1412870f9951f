#include "linux/metrics/scraper.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>
#include <unordered_set>

#include "base/clock.h"
#include "base/fd.h"
#include "linux/metrics/quiet_thread.h"

namespace fathom::metrics {
namespace {

std::string full_name(const Sample& sample) {
  std::string name = sample.name;
  char before = '{';
  for (const Label& label : sample.labels) {
    name += before;
    name += label.name + "=\"";
    for (const char c : label.value) {
      if (c == '"' || c == '\\') name += '\\';
      name += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
    }
    name += '"';
    before = ',';
  }
  return before == ',' ? name + '}' : name;
}

std::string_view unit_of(const Family& family) {
  if (family.unit == "bytes" || family.unit == "seconds") return family.unit;
  for (const std::string_view unit : {"bytes", "seconds"})
    if (family.name.ends_with(unit)) return unit;
  return "count";
}

Scrape scrape(const ScraperOptions& options, int stop) {
  Scrape made;
  const auto fetched = http_get(options.url, monotonic_ns() + options.deadline_ns, stop, accepted());
  made.time_ns = monotonic_ns();
  if (!fetched) {
    made.problem = fetched.error().message;
  } else if (fetched->status != 200) {
    made.problem = fmt::format("{}: it answers with status {}", options.url.text, fetched->status);
  } else {
    const ReadMetrics metrics = read_text(fetched->body);
    made.values = values_of(metrics);
    made.malformed_lines = metrics.malformed_lines;
    made.dropped_samples = metrics.dropped_samples;
    if (made.values.empty()) made.problem = fmt::format("{}: no metrics are in its answer", options.url.text);
  }
  return made;
}

}  // namespace

std::string_view accepted() {
  return "application/openmetrics-text;version=1.0.0;q=0.9,text/plain;version=0.0.4;q=0.8,*/*;q=0.1";
}

std::vector<ScrapedValue> values_of(const ReadMetrics& metrics, std::size_t most) {
  std::vector<ScrapedValue> values;
  std::unordered_set<std::string> seen;
  for (const Family& family : metrics.families) {
    if (family.type != Type::kGauge && family.type != Type::kCounter && family.type != Type::kUnknown)
      continue;
    for (const Sample& sample : family.samples) {
      if (!std::isfinite(sample.value) || sample.name.ends_with("_created")) continue;
      if (values.size() >= most) return values;
      std::string name = full_name(sample);
      if (!seen.insert(name).second) continue;
      values.push_back(
          {std::move(name), family.type == Type::kCounter, std::string(unit_of(family)), sample.value});
    }
  }
  return values;
}

class Scraper::Thread {
 public:
  Thread(ScraperOptions options, Fd stop) : options_(std::move(options)), stop_(std::move(stop)) {
    thread_ = quiet_thread([this] { run(); });
  }
  ~Thread() {
    const std::uint64_t one = 1;
    (void)!::write(stop_.get(), &one, sizeof(one));
    thread_.join();
  }
  std::shared_ptr<const Scrape> newest() const {
    const std::lock_guard lock(mutex_);
    return newest_;
  }
  std::shared_ptr<const Scrape> first() const {
    std::unique_lock lock(mutex_);
    came_.wait_for(lock, std::chrono::nanoseconds(options_.deadline_ns) + std::chrono::seconds(1),
                   [this] { return newest_ != nullptr; });
    return newest_;
  }

 private:
  void run() {
    std::uint64_t scrapes = 0;
    for (std::uint64_t next = monotonic_ns();;) {
      auto made = std::make_shared<const Scrape>(scrape(options_, stop_.get()));
      {
        const std::lock_guard lock(mutex_);
        newest_ = std::move(made);
      }
      came_.notify_all();
      const bool later = ++scrapes >= 60 && options_.later_interval_ns != 0;
      next = std::max(next + (later ? options_.later_interval_ns : options_.interval_ns), monotonic_ns());
      for (std::uint64_t now = monotonic_ns(); now < next; now = monotonic_ns()) {
        pollfd poll{stop_.get(), POLLIN, 0};
        const std::uint64_t left_ms = (next - now) / 1'000'000 + 1;
        (void)::poll(&poll, 1, static_cast<int>(std::min<std::uint64_t>(left_ms, 3'600'000)));
        if (poll.revents != 0) return;
      }
      pollfd poll{stop_.get(), POLLIN, 0};
      if (::poll(&poll, 1, 0) != 0) return;
    }
  }

  const ScraperOptions options_;
  const Fd stop_;
  mutable std::mutex mutex_;
  mutable std::condition_variable came_;
  std::shared_ptr<const Scrape> newest_;
  std::thread thread_;  // last: it uses all of the above
};

Result<std::unique_ptr<Scraper>> Scraper::start(ScraperOptions options) {
  Fd stop(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!stop) return fail(ErrorKind::kSystem, fmt::format("eventfd: {}", std::strerror(errno)));
  return std::unique_ptr<Scraper>(new Scraper(std::make_unique<Thread>(std::move(options), std::move(stop))));
}

Scraper::Scraper(std::unique_ptr<Thread> thread) : thread_(std::move(thread)) {}
Scraper::~Scraper() = default;
std::shared_ptr<const Scrape> Scraper::newest() const {
  return thread_->newest();
}
std::shared_ptr<const Scrape> Scraper::first() const {
  return thread_->first();
}

}  // namespace fathom::metrics
