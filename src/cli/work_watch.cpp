#include "cli/work_watch.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <string_view>
#include <thread>

#include "analysis/core/words.h"
#include "base/clock.h"

namespace fathom::cli {
namespace {

constexpr std::uint64_t kStep_ns = 1'000'000'000;
constexpr double kThousandths = 1e3;

// "syscr: 12" of /proc/PID/io; 0 where there is no such line.
double field_of(std::string_view text, std::string_view key) {
  const std::size_t at = text.find(key);
  if (at == text.npos) return 0;
  std::uint64_t value = 0;
  std::from_chars(text.data() + at + key.size(), text.data() + text.size(), value);
  return static_cast<double>(value);
}

bool is_called(std::string_view series, std::string_view name) {
  return series == name ||
         (series.size() > name.size() && series.starts_with(name) && series[name.size()] == '{');
}

std::string rate(double per_second) {
  return per_second < 100 ? fmt::format("{:.3g}", per_second)
                          : analysis::with_commas(std::llround(per_second));
}

analysis::Figure figure_of_rates(const WorkRates& rates) {
  const auto& steps = rates.steps();
  const std::vector<analysis::RunScale> scale{
      {.pieces = steps.size(),
       .factor = 1 / (kThousandths * static_cast<double>(steps.size())),
       .weight = 0,  // every unit was counted
       .own_spread = 0}};
  return analysis::figure_of(steps, steps, scale);
}

}  // namespace

void WorkRates::add(std::uint64_t time_ns, double counter) {
  if (before_ns_ && time_ns - *before_ns_ < kStep_ns * 9 / 10) return;
  // A restarted program counts from 0, so that step carries no information.
  if (before_ns_ && counter >= before_) {
    const double seconds = static_cast<double>(time_ns - *before_ns_) * 1e-9;
    constexpr double kMost = 1e12;
    steps_.push_back(std::llround(std::min((counter - before_) / seconds, kMost) * kThousandths));
    seconds_ += seconds;
  }
  before_ns_ = time_ns;
  before_ = counter;
}

std::optional<analysis::Change> change_of_work(const WorkRates& before, const WorkRates& during) {
  constexpr std::size_t kLeastSteps = 5;
  if (before.steps().size() < kLeastSteps || during.steps().size() < kLeastSteps) return std::nullopt;
  analysis::Change change = analysis::change_between(figure_of_rates(before), figure_of_rates(during));
  change.looked_at = true;
  analysis::judge(change, 0.05);
  return change;
}

std::string sentence_of_work(const std::string& name, const std::optional<analysis::Change>& change) {
  if (!change)
    return "whether recording slowed the target is not known: its work was seen for less than five seconds before or while it was recorded";
  if (!(change->base > 0))
    return fmt::format("whether recording slowed the target is not known: it did no {} before", name);
  const double percent = 100 * change->change / change->base, error = 100 * change->error / change->base;
  std::string text = fmt::format(
      "the target did {} {} per second before recording and {} while it was recorded ({:+.1f} % ± {:.1f})",
      rate(change->base), name, rate(change->fresh), percent, error);
  if (!change->beyond_noise) return text + ": no difference beyond its own variation";
  return text +
         (change->change < 0 ? ": slower, by recording or by its load" : ": faster, which its load explains");
}

Result<WorkWatch> WorkWatch::start(const std::vector<std::int32_t>& pids, const std::string& url,
                                   const std::string& work) {
  WorkWatch watch;
  if (work.empty()) {
    watch.name_ = "calls that read or write";
    for (const std::int32_t pid : pids) {
      Fd file(::open(fmt::format("/proc/{}/io", pid).c_str(), O_RDONLY | O_CLOEXEC));
      if (file) watch.files_.push_back(std::move(file));
    }
    if (!watch.read(monotonic_ns()))
      return fail(ErrorKind::kPermission, "--baseline: cannot read the target's I/O counters",
                  "as root, or --scrape URL --work NAME");
    return watch;
  }
  watch.name_ = work;
  auto parsed = metrics::parse_url(url);
  if (!parsed) return within("--scrape", parsed.error());
  auto scraper = metrics::Scraper::start({std::move(*parsed), kStep_ns, 0, 5 * kStep_ns});
  if (!scraper) return within("--scrape", scraper.error());
  watch.scraper_ = std::move(*scraper);
  const auto first = watch.scraper_->first();
  if (first == nullptr || !first->problem.empty())
    return fail(ErrorKind::kSystem,
                "--scrape: " + (first == nullptr ? std::string("no answer") : first->problem),
                "an address that serves the target's metrics");
  if (!watch.read(monotonic_ns()))
    return fail(ErrorKind::kNotFound,
                fmt::format("--work: no number is called '{}'", analysis::printable(work)),
                "a name as the answer of that address has it, without labels");
  return watch;
}

std::optional<WorkWatch::Reading> WorkWatch::read(std::uint64_t now_ns) {
  if (scraper_ != nullptr) {
    const auto newest = scraper_->newest();
    if (newest == nullptr || newest->time_ns == scraped_ns_) return std::nullopt;
    scraped_ns_ = newest->time_ns;
    std::optional<double> sum;
    for (const metrics::ScrapedValue& value : newest->values)
      if (is_called(value.name, name_) && std::isfinite(value.value)) sum = sum.value_or(0) + value.value;
    if (!sum) return std::nullopt;
    return Reading{newest->time_ns, *sum};
  }
  std::optional<double> sum;
  for (const Fd& file : files_) {
    std::array<char, 512> text{};
    const ssize_t size = ::pread(file.get(), text.data(), text.size(), 0);
    if (size <= 0) continue;  // it has ended
    const std::string_view read(text.data(), static_cast<std::size_t>(size));
    sum = sum.value_or(0) + field_of(read, "syscr: ") + field_of(read, "syscw: ");
  }
  if (!sum) return std::nullopt;
  return Reading{now_ns, *sum};
}

WorkCompanion::WorkCompanion(WorkWatch watch, double baseline_s) : watch_(std::move(watch)) {
  const std::uint64_t end_ns = monotonic_ns() + static_cast<std::uint64_t>(baseline_s * 1e9);
  for (std::uint64_t now_ns = monotonic_ns();; now_ns = monotonic_ns()) {
    if (const auto reading = watch_.read(now_ns)) before_.add(reading->time_ns, reading->value);
    if (now_ns >= end_ns) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

void WorkCompanion::step(const Lent& /*lent*/, std::uint64_t now_ns) {
  if (now_ns < next_look_ns_) return;
  next_look_ns_ = now_ns + kStep_ns / 10;
  if (const auto reading = watch_.read(now_ns)) during_.add(reading->time_ns, reading->value);
}

session::Companion::Save WorkCompanion::before_save(const Lent& lent, bool last) {
  if (!last) return Save::kAppend;
  const auto change = change_of_work(before_, during_);
  sentence_ = sentence_of_work(watch_.name(), change);
  lent.profile.quality.notes.push_back(sentence_);
  auto& facts = lent.profile.meta.facts;
  facts["work_name"] = watch_.name();
  if (!change) return Save::kAppend;
  facts["work_before"] = fmt::format("{:.3f}", change->base);
  facts["work_during"] = fmt::format("{:.3f}", change->fresh);
  facts["work_error"] = fmt::format("{:.3f}", change->error);
  return Save::kAppend;
}

}  // namespace fathom::cli
