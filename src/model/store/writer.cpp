#include "model/store/writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/files.h"
#include "base/shell_word.h"
#include "model/store/reader.h"

namespace fathom::store {

using model::Fault;
using model::MemoryRange;
using model::Profile;
using model::Sample;
using model::Wait;

namespace {

// A reader would reject the whole file.
Result<> check_rows(const Profile& profile) {
  const std::size_t threads = profile.threads.size(), stacks = profile.stacks.size();
  for (const Sample& sample : profile.samples)
    if (sample.thread.value >= threads || sample.stack.value >= stacks)
      return fail(ErrorKind::kMalformed, "a sample of a thread or stack that is not there");
  for (const Wait& wait : profile.waits) {
    const bool waker = wait.waker == model::kNoThread || wait.waker.value < threads;
    if (wait.thread.value >= threads || wait.stack.value >= stacks || !waker ||
        wait.waker_stack.value >= stacks || wait.object.value >= profile.objects.size())
      return fail(ErrorKind::kMalformed, "a wait of a thread, stack or object that is not there");
    const std::uint64_t left = UINT64_MAX - wait.start_ns;
    if (wait.weight == 0 || wait.waited_ns > left || wait.queued_ns > left - wait.waited_ns)
      return fail(ErrorKind::kMalformed, "a wait without weight, or without end");
  }
  for (const model::HeapRow& row : profile.heap.rows)
    if (row.slice.value >= profile.heap.slices.size() || row.site.value >= profile.heap.sites.size())
      return fail(ErrorKind::kMalformed, "a heap row of a slice or site that is not there");
  for (const model::HeapBlock& block : profile.heap.blocks)
    if (block.site.value >= profile.heap.sites.size())
      return fail(ErrorKind::kMalformed, "a heap block of a site that is not there");
  for (const Fault& fault : profile.faults)
    if (fault.thread.value >= threads || fault.stack.value >= stacks || fault.weight == 0 ||
        fault.object.value >= profile.objects.size())
      return fail(ErrorKind::kMalformed, "a fault of a thread, stack or object that is not there");
  for (const model::Calls& row : profile.calls)
    if (row.function.value >= profile.functions.size() || row.process.value >= profile.processes.size() ||
        row.stack.value >= stacks)
      return fail(ErrorKind::kMalformed, "calls of a function, process or stack that is not there");
  for (const model::Span& span : profile.spans)
    if (span.name.value >= profile.strings.size() || span.end_ns < span.start_ns ||
        (span.thread != model::kNoThread && span.thread.value >= threads))
      return fail(ErrorKind::kMalformed, "a span of a name or thread that is not there, or without end");
  for (const MemoryRange& range : profile.memory_ranges)
    if (range.process.value >= profile.processes.size() || range.name.value >= profile.strings.size() ||
        range.allocator.value >= profile.heap.allocators.size())
      return fail(ErrorKind::kMalformed, "memory of a process, name or allocator that is not there");
  return {};
}

// A file system without locks is acceptable: readers then take the recording for one that ended early.
void set_lock(int fd, short type) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  (void)::fcntl(fd, F_SETLK, &lock);
}

}  // namespace

Result<Writer> Writer::create(const std::string& path, const WriterOptions& options) {
  OutputOptions place;
  place.replaceable = [](std::string_view first) { return is_recording(std::as_bytes(std::span(first))); };
  place.keep_existing = !options.overwrite;
  place.force = options.force;
  auto file = OutputFile::open(path, place);
  if (!file) return tl::make_unexpected(file.error());
  Writer writer(std::move(*file));
  writer.force_ = options.force;
  writer.pending_ = encode_file_header();
  if (auto written = writer.write_pending(); !written) return tl::make_unexpected(written.error());
  set_lock(writer.file_.fd(), F_WRLCK);
  return writer;
}

Result<> Writer::append(const Profile& profile, const ChangedRows* changed) {
  if (finished_) return fail(ErrorKind::kUsage, path() + ": the recording is finished");
  // Names of frames that came after the frames.
  std::vector<std::uint32_t> named, unnamed;
  for (const std::uint32_t id : unnamed_)
    (profile.frames[id].line_count != 0 ? named : unnamed).push_back(id);

  pending_.clear();
  pending_index_.clear();
  if (auto encoded = encode_append(profile, named, changed); !encoded) return within(path(), encoded.error());
  if (auto written = write_pending(); !written) return written;

  // Only now do they count as written.
  for (std::uint32_t id = tables_.frames; id < profile.frames.size(); ++id)
    if (profile.frames[id].line_count == 0) unnamed.push_back(id);
  unnamed_ = std::move(unnamed);
  tables_ = sizes_of(profile);
  remember_state(profile, state_, changed != nullptr);
  heap_ = copy_of(profile.heap);
  samples_ += profile.samples.size();
  return file_.publish();
}

Result<> Writer::encode_append(const Profile& profile, const std::vector<std::uint32_t>& named,
                               const ChangedRows* changed) {
  if (profile.threads.size() > SamplePredictor::kMaxThread)
    return fail(ErrorKind::kUnsupported, fmt::format("{} threads are too many", profile.threads.size()));
  if (auto checked = check_rows(profile); !checked) return checked;

  const TableSizes end = sizes_of(profile);
  std::span<const std::uint32_t> names_left(named);
  for (TableSizes from = tables_; from != end || !names_left.empty();) {
    auto to = next_slice(profile, from, end);
    if (!to) return tl::make_unexpected(to.error());
    const auto names = names_left.first(std::min<std::size_t>(names_left.size(), kMaxRows));
    names_left = names_left.subspan(names.size());
    put_block(kTables, encode_tables(profile, from, *to, names));
    from = *to;
  }
  auto state = encode_state(profile, state_, changed);
  if (!state) return tl::make_unexpected(state.error());
  for (const Bytes& payload : *state) put_block(kState, payload);
  for (std::span<const Sample> left(profile.samples); !left.empty();) {
    const auto part = left.first(std::min<std::size_t>(left.size(), kMaxRows));
    left = left.subspan(part.size());
    put_block(kSamples, encode_samples(part, profile.meta.frequency_hz, predictor_), span_of(part));
  }
  for (std::span<const Wait> left(profile.waits); !left.empty();) {
    const auto part = left.first(std::min<std::size_t>(left.size(), kMaxRows));
    left = left.subspan(part.size());
    put_block(kWaits, encode_waits(part), span_of(part));
  }
  for (const Bytes& payload : encode_heap(profile.heap, heap_)) put_block(kHeap, payload);
  for (std::span<const model::HeapBlock> left(profile.heap.blocks); !left.empty();) {
    const auto part = left.first(std::min<std::size_t>(left.size(), kMaxRows));
    left = left.subspan(part.size());
    put_block(kLives, encode_lives(part, profile.heap), {part.size(), 0, 0}, flags_of(hints_of(part)));
  }
  for (std::span<const Fault> left(profile.faults); !left.empty();) {
    const auto part = left.first(std::min<std::size_t>(left.size(), kMaxRows));
    left = left.subspan(part.size());
    put_block(kFaults, encode_faults(part), {part.size(), 0, 0});
  }
  for (std::span<const model::Calls> left(profile.calls); !left.empty();) {
    const auto part = left.first(std::min<std::size_t>(left.size(), kMaxRows));
    left = left.subspan(part.size());
    put_block(kCalls, encode_calls(part), {part.size(), 0, 0});
  }
  for (std::span<const model::Span> left(profile.spans); !left.empty();) {
    const auto part = left.first(std::min<std::size_t>(left.size(), kMaxRows));
    left = left.subspan(part.size());
    put_block(kSpans, encode_spans(part), {part.size(), 0, 0});
  }
  for (std::span<const MemoryRange> left(profile.memory_ranges); !left.empty();) {
    const auto part = left.first(std::min<std::size_t>(left.size(), kMaxRows));
    left = left.subspan(part.size());
    put_block(kMemory, encode_memory(part), {part.size(), 0, 0});
  }
  PointPosition position;
  while (position.series < profile.series.size())
    if (const Bytes payload = encode_points(profile, position); !payload.empty()) put_block(kPoints, payload);
  return {};
}

Result<> Writer::finish(const Profile& profile, const ChangedRows* changed) {
  if (auto appended = append(profile, changed); !appended) return appended;
  pending_.clear();
  pending_index_.clear();
  const EndMark end{size_, index_.size(), samples_};
  const std::vector<IndexEntry> entries = index_;
  for (std::span<const IndexEntry> left(entries); !left.empty();) {
    const auto part = left.first(std::min<std::size_t>(left.size(), kMaxRows));
    left = left.subspan(part.size());
    put_block(kIndex, encode_index(part));
  }
  put_block(kEnd, encode_end(end));
  if (auto written = write_pending(); !written) return written;
  finished_ = true;
  set_lock(file_.fd(), F_UNLCK);
  return {};
}

Result<> Writer::ensure_there() {
  const OutputFile::Place place = file_.place();
  identity_ = file_.identity();
  if (place == OutputFile::Place::kThere) return {};
  if (place == OutputFile::Place::kGone) {
    auto again = file_.copy_to(path(), {.keep_existing = true, .force = force_});
    if (!again) return within("the recording was removed while it was made", again.error());
    identity_ = again->identity();
    return {};
  }
  std::string stem = path();
  constexpr std::string_view kEnding = ".fathom";
  if (stem.ends_with(kEnding)) stem.resize(stem.size() - kEnding.size());
  for (int number = 2; number < 100; ++number) {
    const std::string beside = fmt::format("{}-{}{}", stem, number, kEnding);
    // An existing file belongs to somebody else; --force only covers the requested name.
    if (!file_.copy_to(beside, {.keep_existing = true})) continue;
    return fail(ErrorKind::kSystem,
                fmt::format("{}: another file took this name while recording; the recording is in {}", path(),
                            beside),
                "fathom report " + shell_word(beside));
  }
  return fail(ErrorKind::kSystem, path() + ": another file took this name while recording", "another name");
}

Writer::Span Writer::span_of(std::span<const Sample> samples) {
  Span span{samples.size(), samples[0].time_ns, samples[0].time_ns};
  for (const Sample& sample : samples) {
    span.first_ns = std::min(span.first_ns, sample.time_ns);
    span.last_ns = std::max(span.last_ns, sample.time_ns);
  }
  return span;
}

Writer::Span Writer::span_of(std::span<const Wait> waits) {
  Span span{waits.size(), waits[0].start_ns, end_of(waits[0])};
  for (const Wait& wait : waits) {
    span.first_ns = std::min(span.first_ns, wait.start_ns);
    span.last_ns = std::max(span.last_ns, end_of(wait));
  }
  return span;
}

void Writer::put_block(std::uint32_t type, const Bytes& payload, const Span& span, std::uint32_t hints) {
  IndexEntry entry;
  entry.type = type;
  entry.rows = static_cast<std::uint32_t>(span.rows);
  entry.offset = size_ + pending_.size();
  entry.first_ns = span.first_ns;
  entry.last_ns = span.last_ns;
  const auto sequence = static_cast<std::uint32_t>(index_.size() + pending_index_.size());
  encoder_.append(pending_, type, sequence, entry.rows, payload, hints);
  pending_index_.push_back(entry);
}

// At size_ and not at the end of the file, so that this overwrites the rest of a failed attempt.
Result<> Writer::write_pending() {
  std::size_t done = 0;
  while (done < pending_.size()) {
    const ssize_t n = ::pwrite(file_.fd(), pending_.data() + done, pending_.size() - done,
                               static_cast<off_t>(size_ + done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      const int error_number = n < 0 ? errno : ENOSPC;
      // Frees the space; if even that fails, a reader still sees a file that ends early.
      [[maybe_unused]] const int cut = ::ftruncate(file_.fd(), static_cast<off_t>(size_));
      return system_error(path(), error_number);
    }
    done += static_cast<std::size_t>(n);
  }
  size_ += pending_.size();
  index_.insert(index_.end(), pending_index_.begin(), pending_index_.end());
  pending_.clear();
  pending_index_.clear();
  return {};
}

}  // namespace fathom::store
