#include "tools/serve/counters.h"

#include "analysis/core/waits.h"

namespace fathom::serve {
namespace {

using metrics::Family;
using metrics::Type;

constexpr double kNs = 1e-9;

Family family(std::string name, Type type, std::string unit, std::string help) {
  return {std::move(name), type, std::move(unit), std::move(help), {}};
}

void put(Family& to, std::vector<metrics::Label> labels, double value) {
  to.samples.push_back({to.name + (to.type == Type::kCounter ? "_total" : ""), std::move(labels), value});
}

}  // namespace

void add_stretch(TargetCounters& counters, const model::Profile& stretch) {
  const double period_s = analysis::sample_period_ns(stretch) * kNs;
  for (const model::Sample& sample : stretch.samples) {
    if (sample.metric != model::Metric::kCpu) continue;
    counters.cpu_s += static_cast<double>(sample.value) * period_s;
    ++counters.samples;
  }
  const analysis::Waits waits(stretch, {.metric = model::Metric::kOffCpu});
  for (const analysis::SelectedWait& row : waits.rows()) {
    const auto seconds = [](std::uint64_t ns, const analysis::WaitWeight& weight) {
      return static_cast<double>(analysis::weighted_ns(ns, weight)) * kNs;
    };
    counters.wait_s[static_cast<std::size_t>(row.cause)] += seconds(row.waited_ns, waits.weight(row));
    counters.wait_s[static_cast<std::size_t>(row.queue_cause)] +=
        seconds(row.queued_ns, waits.queue_weight(row));
  }
}

std::vector<Family> families_of(const std::map<std::string, TargetCounters>& targets,
                                const ServiceFigures& own) {
  Family up = family("fathom_target_up", Type::kGauge, "", "1 while the target is recorded.");
  Family recordings = family("fathom_target_recordings", Type::kCounter, "",
                             "Recordings that began: one each time the target started.");
  Family cpu = family("fathom_cpu_seconds", Type::kCounter, "seconds", "CPU time, from samples.");
  Family waits = family("fathom_wait_seconds", Type::kCounter, "seconds",
                        "Time that threads waited, by cause; run-queue: for a CPU.");
  Family samples = family("fathom_samples", Type::kCounter, "", "Samples of CPU time.");
  Family lost =
      family("fathom_samples_lost", Type::kGauge, "", "Samples that the recording that runs has lost.");
  Family rate = family("fathom_sampling_rate", Type::kGauge, "", "Samples per second and CPU.");
  Family windows = family("fathom_windows", Type::kCounter, "", "Windows, by what became of them.");
  for (const auto& [name, counters] : targets) {
    const metrics::Label target{"target", name};
    put(up, {target}, counters.up ? 1 : 0);
    put(recordings, {target}, static_cast<double>(counters.recordings));
    put(cpu, {target}, counters.cpu_s);
    for (std::size_t i = 0; i < counters.wait_s.size(); ++i)
      if (counters.wait_s[i] > 0)
        put(waits, {target, {"cause", std::string(analysis::to_string(static_cast<analysis::Cause>(i)))}},
            counters.wait_s[i]);
    put(samples, {target}, static_cast<double>(counters.samples));
    put(lost, {target}, static_cast<double>(counters.lost));
    put(rate, {target}, counters.frequency_hz);
    put(windows, {target, {"outcome", "written"}}, static_cast<double>(counters.windows));
    put(windows, {target, {"outcome", "failed"}}, static_cast<double>(counters.failed_windows));
  }
  Family own_cpu = family("fathom_own_cpu_seconds", Type::kCounter, "seconds", "CPU time of fathom itself.");
  put(own_cpu, {}, own.cpu_s);
  Family own_rss = family("fathom_own_rss_bytes", Type::kGauge, "bytes", "Resident memory of fathom itself.");
  put(own_rss, {}, own.rss_bytes);
  Family requests = family("fathom_own_requests", Type::kCounter, "", "Requests, by what became of them.");
  put(requests, {{"outcome", "served"}}, static_cast<double>(own.served));
  put(requests, {{"outcome", "refused"}}, static_cast<double>(own.refused));
  std::vector<Family> families{up,   recordings, cpu,     waits,   samples, lost,
                               rate, windows,    own_cpu, own_rss, requests};
  std::erase_if(families, [](const Family& each) { return each.samples.empty(); });
  return families;
}

std::vector<Family> families_of(const PushFigures& push) {
  Family windows =
      family("fathom_push_windows", Type::kCounter, "",
             "Windows for the server of --push; lost: removed before they were sent, or refused.");
  put(windows, {{"outcome", "sent"}}, static_cast<double>(push.sent));
  put(windows, {{"outcome", "lost"}}, static_cast<double>(push.lost));
  Family waiting = family("fathom_push_windows_waiting", Type::kGauge, "",
                          "Windows in the store that the server does not have yet.");
  put(waiting, {}, static_cast<double>(push.waiting));
  return {windows, waiting};
}

}  // namespace fathom::serve
