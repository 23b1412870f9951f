#include "present/sentences/resource_sentences.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/core/prose_name.h"
#include "analysis/core/words.h"
#include "present/sentences/hot_spot_sentences.h"
#include "present/sentences/report_sentences.h"

namespace fathom::present {

using namespace analysis;  // this folder puts into words what lies there

namespace {

constexpr double kDay = 86400, kYear = 365 * kDay;

// "8 s", "12 min", "3.4 h", "9 days"
std::string time_left_in_words(double seconds_left) {
  if (seconds_left < 120) return fmt::format("{:.0f} s", std::max(1.0, seconds_left));
  if (seconds_left < 7200) return fmt::format("{:.0f} min", seconds_left / 60);
  if (seconds_left < 2 * kDay) return fmt::format("{:.1f} h", seconds_left / 3600);
  return fmt::format("{:.0f} days", seconds_left / kDay);
}

std::string count_in_words(double count) {
  return with_commas(std::llround(count));
}

std::string_view limit_name_of(CountedResource resource) {
  return resource == CountedResource::kDescriptors ? "ulimit -n" : "pids.max";
}

// "The newest are sockets", "Most of the new ones start in worker_main", "They were sleep"
std::string kind_in_words(const ResourceGrowth& growth) {
  if (growth.kind.empty()) return "";
  switch (growth.resource) {
    case CountedResource::kDescriptors:
      return growth.kind.starts_with('/') ? fmt::format("most of the newest are of {}", growth.kind)
                                          : fmt::format("most of the newest are of the kind {}", growth.kind);
    case CountedResource::kThreads:
      return fmt::format("most of the new ones run {}", spoken_name(growth.kind));
    case CountedResource::kChildren:
      return fmt::format("most of the new ones run {}", growth.kind);
    case CountedResource::kZombies:
      return fmt::format("most of them ran {}", growth.kind);
  }
  return "";
}

// Below five caught calls the doubt is said; without any, what would name it.
std::string maker_in_words(const ResourceGrowth& growth) {
  const std::string_view what = growth.resource == CountedResource::kDescriptors ? "open them"
                                : growth.resource == CountedResource::kThreads   ? "start them"
                                                                                 : "start processes";
  if (!growth.maker)
    return growth.resource == CountedResource::kDescriptors
               ? "record --syscalls counts the calls that open them, and names who makes them"
               : "";
  constexpr double kEnoughCalls = 5;
  const ResourceMaker& maker = *growth.maker;
  const std::string site = spoken_name(maker.site);
  if (!maker.counted && maker.calls < kEnoughCalls)
    return maker.calls < 2
               ? fmt::format("the one call that was caught that {} is of {}, which may be chance",
                             growth.resource == CountedResource::kDescriptors ? "opens one" : "starts one",
                             site)
               : fmt::format("all {:.0f} caught calls that {} are of {}, which may be chance", maker.calls,
                             what, site);
  return fmt::format("{} makes {} of the {}calls that {}", site, rounded_percent(maker.share),
                     maker.counted ? "" : "sampled ", what);
}

std::vector<ResourceGrowth> growth_of(const Report& report) {
  return report.profile == nullptr ? std::vector<ResourceGrowth>()
                                   : find_resource_growth(*report.profile, report.selection);
}

std::string growth_in_words(const ResourceGrowth& growth) {
  return fmt::format("{} grow by {} ({} to {} in {})", noun_of(growth.resource), rate_of_counts(growth.per_s),
                     count_in_words(growth.first), count_in_words(growth.last), seconds(growth.seconds));
}

}  // namespace

std::string_view noun_of(CountedResource resource) {
  switch (resource) {
    case CountedResource::kDescriptors:
      return "file descriptors";
    case CountedResource::kThreads:
      return "threads";
    case CountedResource::kChildren:
      return "child processes";
    case CountedResource::kZombies:
      return "zombies";
  }
  return "";
}

std::string rate_of_counts(double per_s) {
  if (per_s >= 9.95) return fmt::format("{}/s", with_commas(std::llround(per_s)));
  if (per_s >= 0.995) return fmt::format("{:.1f}/s", per_s);
  return fmt::format("{:.0f} a minute", per_s * 60);
}

std::string limit_in_words(CountedResource resource, std::uint64_t limit, std::optional<double> left_s) {
  if (limit == 0 || !left_s || *left_s > kYear) return "";
  return fmt::format("the limit of {} ({}) is reached in {}", with_commas(static_cast<std::int64_t>(limit)),
                     limit_name_of(resource), time_left_in_words(*left_s));
}

std::string sentence_of_resources(const Report& report) {
  std::string text;
  for (const ResourceGrowth& growth : growth_of(report)) {
    constexpr std::size_t kLongestText = 600;
    if (text.size() > kLongestText) break;
    std::string sentence = growth_in_words(growth);
    if (report.processes.size() > 1 && !growth.process.empty())
      sentence = fmt::format("{} (pid {}): {}", growth.process, growth.pid, sentence);
    else if (sentence.front() >= 'a' && sentence.front() <= 'z')
      sentence.front() = static_cast<char>(sentence.front() - 'a' + 'A');
    const std::string limit = limit_in_words(growth.resource, growth.limit, growth.left_s);
    if (growth.resource == CountedResource::kZombies)
      sentence += ": children that have ended, and that it does not wait for";
    for (const std::string& part : {limit, kind_in_words(growth), maker_in_words(growth)})
      if (!part.empty()) sentence += "; " + part;
    text += (text.empty() ? "" : " ") + sentence + ".";
  }
  return text;
}

std::string short_sentence_of_resources(const Report& report) {
  std::string text;
  constexpr std::size_t kMostNamed = 3;
  const std::vector<ResourceGrowth> all = growth_of(report);
  for (std::size_t i = 0; i < std::min(kMostNamed, all.size()); ++i)
    text += fmt::format("; {} grow by {}", noun_of(all[i].resource), rate_of_counts(all[i].per_s));
  return text;
}

std::vector<std::string> short_words_of_resources(const Report& report) {
  std::vector<std::string> words;
  for (const ResourceGrowth& growth : growth_of(report)) {
    std::string word = growth.resource == CountedResource::kDescriptors
                           ? "descriptors grow"
                           : fmt::format("{} grow", noun_of(growth.resource));
    if (std::ranges::find(words, word) == words.end()) words.push_back(std::move(word));
  }
  return words;
}

bool resources_come_first(const Report& report) {
  const std::vector<ResourceGrowth> all = growth_of(report);
  if (all.empty()) return false;
  const auto used = report.activity.cpus_used();
  constexpr double kLittleToDo = 0.3;  // CPUs
  return (used && *used < kLittleToDo) || all.front().left_s.value_or(kYear) < kDay;
}

}  // namespace fathom::present
