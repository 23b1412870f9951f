#include "present/statistics/statistics_sentences.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analysis/core/words.h"
#include "attach/allocators/state/remedies.h"
#include "attach/allocators/statistics/held_by.h"
#include "present/statistics/statistics_words.h"

namespace fathom::present {
namespace {

using allocators::AllocatorState;
using allocators::HeldKind;
using allocators::Statistics;
using allocators::StatisticsClass;

double share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

std::string span_of(std::uint64_t ns) {
  return analysis::seconds(static_cast<double>(ns) / 1e9);
}

std::string blocks_of(const StatisticsClass& of) {
  return fmt::format("blocks of {} bytes", number_words(of.size));
}

// What is less of either is not worth a sentence.
constexpr std::uint64_t kLeastBytes = std::uint64_t{1} << 20;
constexpr double kLeastShare = 0.05;

bool matters(std::uint64_t bytes, const Statistics& one) {
  return bytes >= kLeastBytes && share(bytes, one.resident.value_or(*one.active)) >= kLeastShare;
}

StatisticsSentence totals(const Statistics& one) {
  std::string text = fmt::format("The program has {}", size_words(*one.allocated));
  if (one.thread_caches && *one.thread_caches >= kLeastBytes)
    text += fmt::format(", {} of them in caches of threads,", size_words(*one.thread_caches));
  if (one.resident && *one.resident != 0)
    text += fmt::format(" of {} that jemalloc counts as resident ({} %)", size_words(*one.resident),
                        analysis::percent_number(share(*one.allocated, *one.resident)));
  return {text + "."};
}

void add_fragmentation(const Statistics& one, const AllocatorState& held,
                       std::vector<StatisticsSentence>& out) {
  const std::uint64_t free = held.bytes(HeldKind::kFreeInSlabs);
  if (!matters(free, one)) return;
  double small = 0;
  const StatisticsClass* most = nullptr;
  for (const StatisticsClass& of : one.classes) {
    if (of.large) continue;
    small += static_cast<double>(of.live_bytes());
    if (most == nullptr || of.free_bytes() > most->free_bytes()) most = &of;
  }
  StatisticsSentence sentence{fmt::format(
      "Fragmentation: {} lie free among live blocks, {} % of what slabs hold; most of it, {}, among {}, of which {} % of the places are used.",
      size_words(free),
      analysis::percent_number(static_cast<double>(free) / (static_cast<double>(free) + small)),
      size_words(most->free_bytes()), blocks_of(*most),
      analysis::percent_number(share(most->live_bytes(), most->live_bytes() + most->free_bytes())))};
  sentence.text +=
      " A slab is given back when its last block is freed: a few long-lived blocks among many short-lived ones of the same size keep it.";
  out.push_back(std::move(sentence));
}

void add_padding(const Statistics& one, const AllocatorState& held, std::vector<StatisticsSentence>& out) {
  const std::uint64_t rest = held.bytes(HeldKind::kPadding);
  if (!matters(rest, one)) return;
  const bool known = std::ranges::any_of(one.classes, [](const StatisticsClass& of) { return !of.large; });
  out.push_back(
      {known
           ? fmt::format("{} of its pages in use are padding of large blocks and ends of slabs.",
                         size_words(rest))
           : fmt::format(
                 "{} of its pages in use hold no block of the program: free slots in slabs, and padding; the file has no size tables to separate them.",
                 size_words(rest))});
}

void add_free_pages(const Statistics& one, const AllocatorState& held, std::vector<StatisticsSentence>& out) {
  if (!matters(held.returnable, one)) return;
  StatisticsSentence sentence{fmt::format("{} are free pages that it keeps ({} dirty, {} muzzy).",
                                          size_words(held.returnable), size_words(one.dirty.value_or(0)),
                                          size_words(one.muzzy.value_or(0)))};
  const std::string *decay = one.setting("opt.dirty_decay_ms"),
                    *thread = one.setting("opt.background_thread");
  if (decay != nullptr && *decay == "-1")
    sentence.text += " dirty_decay_ms is -1: they are never given back.";
  else if (decay != nullptr && thread != nullptr && *thread == "false")
    sentence.text += fmt::format(
        " jemalloc gives them back {} ms after they became free, but only when a thread of that arena allocates or frees, because background_thread is off.",
        analysis::printable(*decay));
  for (const allocators::Remedy& remedy : allocators::remedies_of(held, std::nullopt, kLeastBytes))
    sentence.remedies.push_back(fmt::format("{}{}: {} (up to {}); {}",
                                            remedy.at_start ? "at the next start " : "", remedy.what,
                                            remedy.how, size_words(remedy.gives_back), remedy.price));
  out.push_back(std::move(sentence));
}

void add_metadata(const Statistics& one, std::vector<StatisticsSentence>& out) {
  if (!one.metadata || !matters(*one.metadata, one)) return;
  out.push_back({fmt::format("{} are its own records{}.", size_words(*one.metadata),
                             one.arenas ? fmt::format(", of {} arenas", number_words(*one.arenas)) : "")});
}

void add_rate(const Statistics& one, std::vector<StatisticsSentence>& out) {
  if (!one.uptime_ns || *one.uptime_ns < 1'000'000'000 || one.classes.empty()) return;
  double calls = 0, bytes = 0;
  const StatisticsClass* most = &one.classes.front();
  for (const StatisticsClass& of : one.classes) {
    calls += static_cast<double>(of.made);
    bytes += static_cast<double>(of.made) * static_cast<double>(of.size);
    if (of.made > most->made) most = &of;
  }
  if (calls == 0) return;
  const double lived_s = static_cast<double>(*one.uptime_ns) / 1e9;
  // Blocks move between the arena and the caches of threads more seldom than the program asks for them.
  out.push_back({fmt::format(
      "Its arenas made {} blocks a second since the start ({}/s), {} % of them {}; requests served from thread caches are not included.",
      number_words(static_cast<std::uint64_t>(std::min(calls / lived_s, 1e18))),
      analysis::bytes(bytes / lived_s), analysis::percent_number(static_cast<double>(most->made) / calls),
      blocks_of(*most))});
}

void add_locks(const Statistics& one, std::vector<StatisticsSentence>& out) {
  constexpr std::uint64_t kLeastWait = 10'000'000;
  double waited = 0;
  for (const allocators::StatisticsLock& lock : one.locks) waited += static_cast<double>(lock.waited_ns);
  if (waited < static_cast<double>(kLeastWait)) return;
  const allocators::StatisticsLock& most = one.locks.front();
  std::string text =
      fmt::format("Threads waited {} for its locks since the start", analysis::seconds(waited / 1e9));
  if (one.uptime_ns && *one.uptime_ns != 0)
    text += fmt::format(" ({} % of one CPU's time)",
                        analysis::percent_number(waited / static_cast<double>(*one.uptime_ns)));
  out.push_back({fmt::format("{}, most of it at {} ({}).", text, analysis::printable(most.name),
                             span_of(most.waited_ns))});
}

void add_profiling(const Statistics& one, std::vector<StatisticsSentence>& out) {
  const std::string* compiled = one.setting("config.prof");
  if (compiled == nullptr) return;
  const std::string* on = one.setting("opt.prof");
  if (*compiled == "false")
    out.push_back(
        {"It was built without heap profiling, so prof:true would have no effect; fathom record --heap shows who holds its blocks."});
  else if (on != nullptr && *on == "false")
    out.push_back(
        {"Heap profiling is built in but off: fathom record --heap shows who holds its blocks without a restart, prof:true after the next start."});
}

}  // namespace

std::string statistics_headline(const Statistics& one) {
  std::string text = one.version.empty() ? "jemalloc" : "jemalloc " + analysis::printable(one.version);
  if (one.uptime_ns) text += fmt::format(" · {} after its start", span_of(*one.uptime_ns));
  if (one.arenas) text += " · " + analysis::counted(*one.arenas, "arena");
  return text;
}

std::vector<StatisticsSentence> statistics_sentences(const Statistics& one) {
  std::vector<StatisticsSentence> out;
  const AllocatorState held = allocators::held_by(one);
  if (held.certainty == allocators::Certainty::kUnknown) {
    out.push_back({fmt::format("Its contents are unknown: {}.", held.reason)});
  } else {
    out.push_back(totals(one));
    add_fragmentation(one, held, out);
    add_free_pages(one, held, out);
    add_padding(one, held, out);
    add_metadata(one, out);
  }
  add_rate(one, out);
  add_locks(one, out);
  add_profiling(one, out);
  if (one.cut) out.push_back({"Its end is missing, so this covers only the part that exists."});
  if (one.unread != 0)
    out.push_back({fmt::format("{} of its tables could not be read and {} not in the numbers.",
                               analysis::counted(one.unread, "line"), one.unread == 1 ? "is" : "are")});
  return out;
}

std::vector<StatisticsSentence> growth_sentences(std::span<const Statistics> all) {
  std::vector<StatisticsSentence> out;
  // What was cut or is of another start says nothing of growth.
  const auto known = [](const Statistics& one) { return one.allocated && one.active; };
  const auto last = std::find_if(all.rbegin(), all.rend(), known);
  if (last == all.rend()) return out;
  const Statistics* first = &*last;
  for (auto at = last; at != all.rend(); ++at) {
    if (!known(*at)) continue;
    if (at->uptime_ns && first->uptime_ns && *at->uptime_ns > *first->uptime_ns) break;
    first = &*at;
  }
  if (first == &*last) return out;
  const auto change = [](std::uint64_t from, std::uint64_t to) {
    return fmt::format("{} to {} ({}{})", size_words(from), size_words(to), to < from ? "-" : "+",
                       size_words(to < from ? from - to : to - from));
  };
  std::string text = fmt::format("From the first to the last");
  if (first->uptime_ns && last->uptime_ns && *last->uptime_ns > *first->uptime_ns)
    text += fmt::format(", {} later", span_of(*last->uptime_ns - *first->uptime_ns));
  text += fmt::format(", what the program has went from {}", change(*first->allocated, *last->allocated));
  if (first->resident && last->resident)
    text += fmt::format(", what is resident from {}", change(*first->resident, *last->resident));
  out.push_back({text + "."});
  std::map<std::uint64_t, std::int64_t> by_size;
  for (const StatisticsClass& of : last->classes)
    by_size[of.size] += static_cast<std::int64_t>(std::min<std::uint64_t>(of.live_bytes(), INT64_MAX / 2));
  for (const StatisticsClass& of : first->classes)
    by_size[of.size] -= static_cast<std::int64_t>(std::min<std::uint64_t>(of.live_bytes(), INT64_MAX / 2));
  const auto most = std::ranges::max_element(by_size, {}, [](const auto& entry) { return entry.second; });
  if (most != by_size.end() && most->second >= static_cast<std::int64_t>(kLeastBytes))
    out.push_back({fmt::format("Blocks of {} bytes grew most, by {}.", number_words(most->first),
                               size_words(static_cast<std::uint64_t>(most->second)))});
  return out;
}

}  // namespace fathom::present
