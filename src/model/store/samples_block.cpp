// SAMP: eight columns. The cost of a sample is mostly the jitter of its time: for a CPU that samples at a
// fixed period, the file stores the number of periods since its last sample (nearly always 1) and the rest,
// some microseconds.
#include <fmt/format.h>

#include <algorithm>
#include <cassert>

#include "model/store/payload.h"
#include "model/store/row_heads.h"

namespace fathom::store {
namespace {

using namespace model;

enum Column { kMetric, kCpuColumn, kWalkEnd, kThread, kStack, kValue, kPeriods, kRest, kColumnCount };

// Differences of 64-bit times wrap around in both directions: any two times can follow each other.
struct Beat {
  std::int64_t periods, rest;
};
Beat split(std::int64_t difference, std::int64_t period) {
  if (period == 0) return {0, difference};
  Beat beat{difference / period, difference % period};
  if (beat.rest > period / 2) beat = {beat.periods + 1, beat.rest - period};
  if (beat.rest < -(period / 2)) beat = {beat.periods - 1, beat.rest + period};
  return beat;
}

// 0 is "as before".
std::uint64_t repeat_code(std::uint32_t value, std::uint32_t previous) {
  return value == previous ? 0 : std::uint64_t{value} + 1;
}
std::uint32_t repeat_value(std::uint64_t code, std::uint32_t previous) {
  return code == 0 ? previous : static_cast<std::uint32_t>(std::min<std::uint64_t>(code - 1, kLostRow));
}

}  // namespace

void SamplePredictor::start(std::uint64_t base_ns) {
  ++block_;
  base_ns_ = base_ns;
}

SamplePredictor::Lane& SamplePredictor::lane(Metric metric, std::uint16_t cpu) {
  if (metric == Metric::kCpu && cpu >= cpus_.size()) cpus_.resize(std::size_t{cpu} + 1);
  Lane& lane = metric == Metric::kCpu ? cpus_[cpu] : metrics_[static_cast<std::uint8_t>(metric)];
  if (lane.block != block_) lane = {base_ns_, kLostRow, block_};
  return lane;
}

std::uint32_t& SamplePredictor::last_stack(std::uint32_t thread) {
  assert(thread < kMaxThread);
  if (thread >= threads_.size()) threads_.resize(std::size_t{thread} + 1);
  Last& last = threads_[thread];
  if (last.block != block_) last = {kLostRow, block_};
  return last.stack;
}

Bytes encode_samples(std::span<const Sample> samples, std::uint32_t frequency_hz,
                     SamplePredictor& predictor) {
  const std::uint64_t period = frequency_hz == 0 ? 0 : 1'000'000'000 / frequency_hz;
  const std::uint64_t base = samples.empty() ? 0 : samples[0].time_ns;
  predictor.start(base);
  std::array<std::vector<std::uint64_t>, kColumnCount> columns;
  for (auto& column : columns) column.reserve(samples.size());
  for (const Sample& sample : samples) {
    auto& lane = predictor.lane(sample.metric, sample.cpu);
    const Beat beat = split(static_cast<std::int64_t>(sample.time_ns - lane.time_ns),
                            sample.metric == Metric::kCpu ? static_cast<std::int64_t>(period) : 0);
    std::uint32_t& stack = predictor.last_stack(sample.thread.value);
    columns[kMetric].push_back(static_cast<std::uint64_t>(sample.metric));
    columns[kCpuColumn].push_back(sample.cpu);
    columns[kWalkEnd].push_back(sample.end);
    columns[kThread].push_back(repeat_code(sample.thread.value, lane.thread));
    columns[kStack].push_back(repeat_code(sample.stack.value, stack));
    columns[kValue].push_back(zigzag(sample.value));
    columns[kPeriods].push_back(zigzag(beat.periods));
    columns[kRest].push_back(zigzag(beat.rest));
    lane.time_ns = sample.time_ns;
    lane.thread = sample.thread.value;
    stack = sample.stack.value;
  }
  Bytes out;
  put_varint(out, samples.size());
  put_varint(out, period);
  put_varint(out, base);
  for (const auto& column : columns) put_column(out, column);
  return out;
}

Result<> decode_samples(Cursor in, std::uint32_t rows, SamplePredictor& predictor, Loading& loading) {
  const auto count = read_row_count(in, rows, "samples");
  if (!count) return tl::make_unexpected(count.error());
  const std::uint64_t period = in.read_uleb128();
  const std::uint64_t base = in.read_uleb128();
  RowColumns columns(in, *count, kColumnCount, "samples");
  if (auto admitted = columns.admit(sizeof(Sample), loading); !admitted) return admitted;

  // All of the block or nothing: a lost block is counted as a whole.
  auto& samples = loading.profile.samples;
  const std::size_t before = samples.size();
  std::uint64_t filtered = 0;
  predictor.start(base);
  for (std::uint64_t i = 0; i < *count; ++i) {
    Sample sample;
    sample.metric = static_cast<Metric>(std::min<std::uint64_t>(columns.next(kMetric), 255));
    sample.cpu = static_cast<std::uint16_t>(columns.next(kCpuColumn));
    sample.end = static_cast<WalkEnd>(columns.next(kWalkEnd));
    auto& lane = predictor.lane(sample.metric, sample.cpu);
    sample.thread = {repeat_value(columns.next(kThread), lane.thread)};
    if (sample.thread.value >= SamplePredictor::kMaxThread ||
        (sample.thread.value >= loading.profile.threads.size() && !loading.damaged)) {
      samples.resize(before);
      return fail(ErrorKind::kMalformed, fmt::format("sample {}: no such thread", i));
    }
    std::uint32_t& stack = predictor.last_stack(sample.thread.value);
    sample.stack = {repeat_value(columns.next(kStack), stack)};
    sample.value = unzigzag(columns.next(kValue));
    const std::uint64_t whole = static_cast<std::uint64_t>(unzigzag(columns.next(kPeriods))) * period;
    sample.time_ns = lane.time_ns + whole + static_cast<std::uint64_t>(unzigzag(columns.next(kRest)));
    lane.time_ns = sample.time_ns;
    lane.thread = sample.thread.value;
    stack = sample.stack.value;
    if (loading.in_window(sample.time_ns))
      samples.push_back(sample);
    else
      ++filtered;
  }
  if (auto whole = columns.whole(); !whole) {
    samples.resize(before);
    return whole;
  }
  loading.filtered += filtered;
  return {};
}

}  // namespace fathom::store
