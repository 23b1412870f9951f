// STAT: rows and facts that change while recording. A row is written whole if any of its fields has changed;
// single facts are numbered: there are few of them, and a reader only needs the last value.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "model/store/column.h"
#include "model/store/payload.h"
#include "model/store/state_rows.h"

namespace fathom::store {
namespace {

using namespace model;

enum Section : unsigned {
  kMeta = 1,
  kEndTime = 2,
  kModules = 3,
  kProcesses = 4,
  kThreads = 5,
  kSeries = 6,
  kCounters = 7,
  kEarlyEnds = 8,
  kNotes = 9,
  kThreadTimes = 10,
};

// Sections are cut at about this size, so that a block always stays well below kMaxPayload.
constexpr std::size_t kFullBlock = kMaxPayload / 4;

// A lost row: its ids are invalid, which repair() mends.
template <class Row>
Row lost_row() {
  return Row{};
}
template <>
Thread lost_row<Thread>() {
  Thread row;
  row.process = {kLostRow};
  return row;
}

// --- rows: the distance from one changed row to the next, and the rows ---
class Blocks {
 public:
  void section(unsigned number, const Bytes& body) {
    if (blocks_.empty() || blocks_.back().size() + body.size() > kFullBlock) blocks_.emplace_back();
    put_section(blocks_.back(), number, body);
  }
  std::vector<Bytes> take() { return std::move(blocks_); }

 private:
  std::vector<Bytes> blocks_;
};

// The rows of `rows` for which same(number) is false; of `among` unless it is null.
template <class Row, class Same, class Put>
void encode_rows(Blocks& out, unsigned number, const std::vector<Row>& rows, const Same& same, const Put& put,
                 const std::vector<std::uint32_t>* among = nullptr) {
  std::size_t expected = 0, count = 0;
  Bytes body;
  const auto flush = [&] {
    if (count == 0) return;
    Bytes section;
    put_varint(section, count);
    section.insert(section.end(), body.begin(), body.end());
    out.section(number, section);
    body.clear();
    expected = count = 0;
  };
  const std::size_t candidates = among == nullptr ? rows.size() : among->size();
  for (std::size_t candidate = 0; candidate < candidates; ++candidate) {
    const std::size_t i = among == nullptr ? candidate : (*among)[candidate];
    if (i >= rows.size() || same(i)) continue;
    put_varint(body, i - expected);
    put(body, rows[i]);
    expected = i + 1;
    if (++count == kMaxRows || body.size() > kFullBlock / 2) flush();
  }
  flush();
}

template <class Row>
Result<> decode_rows(Cursor& in, std::vector<Row>& rows, Loading& loading) {
  const std::uint64_t count = in.read_uleb128();
  if (!in.ok() || count > in.remaining()) return fail(ErrorKind::kMalformed, "rows are cut short");
  std::uint64_t next = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t step = in.read_uleb128();
    Row row{};
    read_row(in, row);
    if (!in.ok() || step > kLostRow) return fail(ErrorKind::kMalformed, "rows are cut short");
    next += step;
    if (next > rows.size() && !loading.damaged)
      return fail(ErrorKind::kMalformed, fmt::format("row {}, where {} is next", next, rows.size()));
    if (next >= rows.size()) {
      if (auto charged = loading.charge((next + 1 - rows.size()) * sizeof(Row)); !charged) return charged;
      rows.resize(next + 1, lost_row<Row>());
    }
    copy_row(row, rows[next++]);  // points and times of the row stay
  }
  return {};
}

Result<> decode_thread_times(Cursor& in, Loading& loading) {
  auto& rows = loading.profile.threads;
  const std::uint64_t count = in.read_uleb128();
  if (!in.ok() || count > in.remaining()) return fail(ErrorKind::kMalformed, "times are cut short");
  std::uint64_t next = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t step = in.read_uleb128();
    Thread times;
    read_row(in, times, kThreadTimesSince);
    if (!in.ok() || step > kLostRow) return fail(ErrorKind::kMalformed, "times are cut short");
    next += step;
    // A lost thread is not kept at all, not even its row.
    if (next < rows.size())
      copy_row(times, rows[next], kThreadTimesSince);
    else if (!loading.damaged)
      return fail(ErrorKind::kMalformed, fmt::format("times of thread {}, which is not there", next));
    ++next;
  }
  return {};
}

// --- single facts ---
// Ignores end_ns, which has its own section: it changes every second.
bool same_meta(const Meta& a, const Meta& b) {
  Meta copy = a;
  copy.end_ns = b.end_ns;
  return copy == b;
}

Bytes encode_meta(const Meta& meta) {
  Bytes body;
  put_text(body, meta.target);
  put_text(body, meta.engine);
  put_text(body, meta.event);
  put_varint(body, meta.frequency_hz);
  put_varint(body, meta.start_ns);
  put_varint(body, meta.start_unix_ns);
  put_varint(body, meta.facts.size());
  for (const auto& fact : meta.facts) {
    put_text(body, fact.first);
    put_text(body, fact.second);
  }
  return body;
}

Result<> decode_meta(Cursor& in, Loading& loading) {
  if (auto charged = loading.charge(in.remaining()); !charged) return charged;
  Meta meta;
  meta.end_ns = loading.profile.meta.end_ns;
  meta.target = read_text(in);
  meta.engine = read_text(in);
  meta.event = read_text(in);
  meta.frequency_hz = static_cast<std::uint32_t>(in.read_uleb128());
  meta.start_ns = in.read_uleb128();
  meta.start_unix_ns = in.read_uleb128();
  const std::uint64_t facts = in.read_uleb128();
  for (std::uint64_t i = 0; i < facts && in.ok(); ++i) {
    const std::string name(read_text(in));
    meta.facts[name] = read_text(in);
  }
  if (!in.ok()) return fail(ErrorKind::kMalformed, "the facts are cut short");
  loading.profile.meta = std::move(meta);
  return {};
}

std::uint64_t counter_code(std::uint64_t value) {
  return value;
}
std::uint64_t counter_code(double value) {
  return std::bit_cast<std::uint64_t>(value);
}
std::uint64_t counter_code(bool value) {
  return value ? 1 : 0;
}
void decode_counter(std::uint64_t code, std::uint64_t& value) {
  value = code;
}
void decode_counter(std::uint64_t code, double& value) {
  value = std::bit_cast<double>(code);
}
void decode_counter(std::uint64_t code, bool& value) {
  value = code != 0;
}

// All counters that differ from the written ones; a reader starts from 0. Whole numbers come first, each kind in the order of its
// numbers: a reader needs no order, and so the same state has the same bytes in every version.
Bytes encode_counters(const Quality& quality, const Quality& written) {
  struct Changed {
    bool other;  // than a whole number
    unsigned number;
    std::uint64_t code;
    auto operator<=>(const Changed&) const = default;
  };
  std::vector<Changed> changed;
  fields_of(
      [&](const Field& field, const auto& now, const auto& before) {
        using Value = std::decay_t<decltype(now)>;
        if constexpr (std::is_arithmetic_v<Value>)
          if (now != before)
            changed.push_back(
                {!std::is_same_v<Value, std::uint64_t>, field.storage.number, counter_code(now)});
      },
      quality, written);
  std::ranges::sort(changed);
  Bytes body;
  for (const Changed& counter : changed) {
    put_varint(body, counter.number);
    put_varint(body, counter.code);
  }
  return body;
}

Result<> decode_counters(Cursor& in, Quality& quality) {
  while (!in.at_end()) {
    const std::uint64_t number = in.read_uleb128();
    const std::uint64_t code = in.read_uleb128();
    if (!in.ok()) return fail(ErrorKind::kMalformed, "the counters are cut short");
    fields_of(
        [&](const Field& field, auto& value) {
          if constexpr (std::is_arithmetic_v<std::decay_t<decltype(value)>>)
            if (field.storage.number == number) decode_counter(code, value);
        },
        quality);
  }
  return {};
}

Bytes encode_early_ends(const std::vector<EarlyEnd>& ends) {
  Bytes body;
  for (const EarlyEnd& end : ends) {
    body.push_back(static_cast<std::byte>(end.reason));
    put_varint(body, end.module.value);
    put_varint(body, end.count);
  }
  return body;
}

Result<> decode_early_ends(Cursor& in, Loading& loading) {
  if (auto charged = loading.charge(in.remaining() / 3 * sizeof(EarlyEnd)); !charged) return charged;
  std::vector<EarlyEnd> ends;
  while (!in.at_end()) {
    EarlyEnd end;
    end.reason = in.read<std::uint8_t>();
    end.module = {row_id(in.read_uleb128())};
    end.count = in.read_uleb128();
    if (!in.ok()) return fail(ErrorKind::kMalformed, "the early ends are cut short");
    ends.push_back(end);
  }
  loading.profile.quality.early_ends = std::move(ends);
  return {};
}

Bytes encode_notes(const std::vector<std::string>& notes) {
  Bytes body;
  for (const std::string& note : notes) put_text(body, note);
  return body;
}

Result<> decode_notes(Cursor& in, Loading& loading) {
  if (auto charged = loading.charge(in.remaining() * sizeof(std::string)); !charged) return charged;
  std::vector<std::string> notes;
  while (!in.at_end()) {
    notes.emplace_back(read_text(in));
    if (!in.ok()) return fail(ErrorKind::kMalformed, "the notes are cut short");
  }
  loading.profile.quality.notes = std::move(notes);
  return {};
}

}  // namespace

Result<std::vector<Bytes>> encode_state(const Profile& profile, const StateCopy& written,
                                        const ChangedRows* changed) {
  Blocks out;
  if (!same_meta(profile.meta, written.meta)) out.section(kMeta, encode_meta(profile.meta));
  if (profile.meta.end_ns != written.meta.end_ns) {
    Bytes body;
    put_varint(body, profile.meta.end_ns);
    out.section(kEndTime, body);
  }
  const auto put = [](Bytes& body, const auto& row) { put_row(body, row); };
  const auto same_rows = [](const auto& a, const auto& b) {
    return [&](std::size_t i) { return i < b.size() && a[i] == b[i]; };
  };
  encode_rows(out, kModules, profile.modules, same_rows(profile.modules, written.modules), put);
  encode_rows(out, kProcesses, profile.processes, same_rows(profile.processes, written.processes), put,
              changed == nullptr ? nullptr : &changed->processes);
  const std::vector<Thread>& threads = written.threads;
  const auto* among = changed == nullptr ? nullptr : &changed->threads;
  encode_rows(
      out, kThreads, profile.threads,
      [&](std::size_t i) { return i < threads.size() && same_row(profile.threads[i], threads[i]); }, put,
      among);
  encode_rows(
      out, kThreadTimes, profile.threads,
      [&](std::size_t i) {
        return same_row(profile.threads[i], i < threads.size() ? threads[i] : Thread{}, kThreadTimesSince);
      },
      [](Bytes& body, const Thread& row) { put_row(body, row, kThreadTimesSince); }, among);
  encode_rows(
      out, kSeries, profile.series,
      [&](std::size_t i) {
        return i < written.series.size() && head_of(profile.series[i]) == written.series[i];
      },
      put);
  if (Bytes counters = encode_counters(profile.quality, written.quality); !counters.empty())
    out.section(kCounters, counters);
  if (profile.quality.early_ends != written.quality.early_ends)
    out.section(kEarlyEnds, encode_early_ends(profile.quality.early_ends));
  if (profile.quality.notes != written.quality.notes)
    out.section(kNotes, encode_notes(profile.quality.notes));
  std::vector<Bytes> blocks = out.take();
  for (const Bytes& block : blocks)
    if (block.size() > kMaxPayload)
      return fail(ErrorKind::kUnsupported, "facts or notes are too long for a recording");
  return blocks;
}

void remember_state(const Profile& profile, StateCopy& written, bool changes_are_told) {
  written.meta = profile.meta;
  written.modules = profile.modules;
  if (!changes_are_told) {
    written.processes = profile.processes;
    written.threads = profile.threads;
  }
  written.series.clear();
  for (const Series& series : profile.series) written.series.push_back(head_of(series));
  written.quality = profile.quality;
}

Result<> decode_state(Cursor in, Loading& loading) {
  Profile& profile = loading.profile;
  while (!in.at_end()) {
    const std::uint64_t number = in.read_uleb128();
    Cursor body = in.sub(in.read_uleb128());
    if (!in.ok()) return fail(ErrorKind::kMalformed, "a section is cut short");
    Result<> decoded;
    switch (number) {
      case kMeta:
        decoded = decode_meta(body, loading);
        break;
      case kEndTime:
        profile.meta.end_ns = body.read_uleb128();
        break;
      case kModules:
        decoded = decode_rows(body, profile.modules, loading);
        break;
      case kProcesses:
        decoded = decode_rows(body, profile.processes, loading);
        break;
      case kThreads:
        decoded = decode_rows(body, profile.threads, loading);
        break;
      case kThreadTimes:
        decoded = decode_thread_times(body, loading);
        break;
      case kSeries:
        decoded = decode_rows(body, profile.series, loading);
        break;
      case kCounters:
        decoded = decode_counters(body, profile.quality);
        break;
      case kEarlyEnds:
        decoded = decode_early_ends(body, loading);
        break;
      case kNotes:
        decoded = decode_notes(body, loading);
        break;
      default:
        break;  // from a newer minor version
    }
    if (!decoded) return decoded;
  }
  return in.ok() ? Result<>() : Result<>(fail(ErrorKind::kMalformed, "a section is cut short"));
}

}  // namespace fathom::store
