#include "analysis/stacks/kept_look.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/parse.h"

namespace fathom::stacks {
namespace {

constexpr std::size_t kMostBytes = 1 << 20;
constexpr std::size_t kMostThreads = 100'000;

// A field of a line: without what separates fields and lines.
std::string as_field(std::string text) {
  for (char& each : text)
    if (static_cast<unsigned char>(each) < 0x20) each = ' ';
  return text;
}

// Takes the text up to the next tab, and the tab, off `line`.
std::string_view next_field(std::string_view& line) {
  const std::string_view field = take_until(line, '\t');
  return field;
}

template <class Number>
bool take_number(std::string_view& line, Number& number) {
  const auto value = parse_number<Number>(next_field(line));
  if (value) number = *value;
  return value.has_value();
}

// `last`: the greatest of its values.
template <class Enum>
bool take_enum(std::string_view& line, Enum& value, Enum last) {
  std::uint32_t number = 0;
  if (!take_number(line, number) || number > static_cast<std::uint32_t>(last)) return false;
  value = static_cast<Enum>(number);
  return true;
}

std::optional<std::vector<std::size_t>> take_rows(std::string_view& line, std::size_t threads) {
  std::string_view list = next_field(line);
  std::vector<std::size_t> rows;
  while (!list.empty()) {
    const auto row = parse_number<std::size_t>(take_until(list, ' '));
    if (!row || *row >= threads) return std::nullopt;
    rows.push_back(*row);
  }
  return rows;
}

std::string line_of(const ThreadLook& thread) {
  const Awaited& awaited = thread.awaited;
  const Holder& holder = thread.holder;
  return fmt::format(
      "thread\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\n", thread.pid,
      thread.tid, static_cast<unsigned>(thread.state), thread.waited_ns.value_or(0),
      static_cast<unsigned>(awaited.cause), static_cast<unsigned>(awaited.futex),
      static_cast<unsigned>(awaited.family), awaited.address, awaited.has_timeout ? 1 : 0,
      static_cast<unsigned>(holder.kind), static_cast<unsigned>(holder.evidence), holder.tid, holder.pid,
      holder.thread, thread.place.line, as_field(thread.name), as_field(thread.place.function),
      as_field(thread.place.file), as_field(awaited.object), as_field(holder.name));
}

std::optional<ThreadLook> thread_of(std::string_view line) {
  ThreadLook thread;
  Awaited& awaited = thread.awaited;
  Holder& holder = thread.holder;
  std::uint64_t waited_ns = 0;
  std::uint32_t has_timeout = 0;
  const bool whole =
      take_number(line, thread.pid) && take_number(line, thread.tid) &&
      take_enum(line, thread.state, State::kUnknown) && take_number(line, waited_ns) &&
      take_enum(line, awaited.cause, static_cast<analysis::Cause>(analysis::kCauseCount - 1)) &&
      take_enum(line, awaited.futex, analysis::FutexKind::kChannel) &&
      take_enum(line, awaited.family, LockFamily::kParkingLot) && take_number(line, awaited.address) &&
      take_number(line, has_timeout) && take_enum(line, holder.kind, Holder::Kind::kExited) &&
      take_enum(line, holder.evidence, Evidence::kChild) && take_number(line, holder.tid) &&
      take_number(line, holder.pid) && take_number(line, holder.thread) &&
      take_number(line, thread.place.line);
  if (!whole) return std::nullopt;
  if (waited_ns != 0) thread.waited_ns = waited_ns;
  awaited.has_timeout = has_timeout != 0;
  thread.name = next_field(line);
  thread.place.function = next_field(line);
  thread.place.file = next_field(line);
  awaited.object = next_field(line);
  holder.name = next_field(line);
  return thread;
}

std::string line_of(const Verdict& verdict) {
  return fmt::format("verdict\t{}\t{}\t{}\t{}\t{}\n", static_cast<unsigned>(verdict.finding),
                     verdict.may_end ? 1 : 0, verdict.behind, fmt::join(verdict.threads, " "),
                     fmt::join(verdict.chain, " "));
}

std::optional<Verdict> verdict_of(std::string_view line, std::size_t threads) {
  Verdict verdict;
  std::uint32_t may_end = 0;
  if (!take_enum(line, verdict.finding, Finding::kIdle) || !take_number(line, may_end) ||
      !take_number(line, verdict.behind))
    return std::nullopt;
  const auto waiters = take_rows(line, threads), chain = take_rows(line, threads);
  if (!waiters || !chain || waiters->empty() || !is_trouble(verdict.finding)) return std::nullopt;
  verdict.may_end = may_end != 0;
  verdict.threads = *waiters;
  verdict.chain = *chain;
  return verdict;
}

bool is_proved(Finding finding) {
  return finding == Finding::kDeadlock || finding == Finding::kHolderExited;
}

}  // namespace

bool is_trouble(Finding finding) {
  switch (finding) {
    case Finding::kDeadlock:
    case Finding::kHolderExited:
    case Finding::kPoolExhausted:
    case Finding::kLikelyDeadlock:
    case Finding::kHolderWaits:
    case Finding::kHolderElsewhere:
      return true;
    default:
      return false;
  }
}

Look keep_trouble(const Look& look, std::uint64_t least_ns) {
  Look kept;
  kept.time_ns = look.time_ns;
  std::vector<std::size_t> row_of(look.threads.size(), SIZE_MAX);
  const auto keep = [&](std::size_t row) {
    if (row_of[row] == SIZE_MAX) {
      row_of[row] = kept.threads.size();
      kept.threads.push_back(look.threads[row]);
    }
    return row_of[row];
  };
  for (const Verdict& verdict : look.verdicts) {
    const bool is_long = std::ranges::all_of(verdict.threads, [&](std::size_t row) {
      return look.threads[row].waited_ns.value_or(0) >= least_ns;
    });
    if (!is_trouble(verdict.finding) || (!is_proved(verdict.finding) && !is_long)) continue;
    Verdict copy = verdict;
    for (std::size_t& row : copy.threads) row = keep(row);
    for (std::size_t& row : copy.chain) row = keep(row);
    kept.verdicts.push_back(std::move(copy));
  }
  // The thread that holds a lock of one that is kept is kept itself, or is no row any more.
  for (ThreadLook& thread : kept.threads) {
    if (thread.holder.kind != Holder::Kind::kThread) continue;
    if (const std::size_t row = row_of[thread.holder.thread]; row != SIZE_MAX)
      thread.holder.thread = row;
    else
      thread.holder = {};
  }
  return kept;
}

std::string to_fact(const Look& look) {
  if (look.verdicts.empty()) return "";
  std::string text = look.time_ns != 0 ? fmt::format("at\t{}\n", look.time_ns) : "";
  for (const ThreadLook& thread : look.threads) text += line_of(thread);
  for (const Verdict& verdict : look.verdicts) text += line_of(verdict);
  return text.size() <= kMostBytes ? text : "";
}

Look look_of_fact(std::string_view text) {
  Look look;
  while (!text.empty()) {
    std::string_view line = take_until(text, '\n');
    const std::string_view kind = next_field(line);
    if (kind == "at") {
      look.time_ns = parse_number(line).value_or(0);
    } else if (kind == "thread" && look.threads.size() < kMostThreads) {
      // Verdicts count rows, so one that does not parse keeps its place.
      look.threads.push_back(thread_of(line).value_or(ThreadLook{}));
    } else if (kind == "verdict") {
      if (auto verdict = verdict_of(line, look.threads.size())) look.verdicts.push_back(std::move(*verdict));
    }
  }
  for (ThreadLook& thread : look.threads)
    if (thread.holder.kind == Holder::Kind::kThread && thread.holder.thread >= look.threads.size())
      thread.holder = {};
  return look;
}

}  // namespace fathom::stacks
