// One perf ring: memory that the kernel fills with records and that we empty. Source: perf_event_open(2),
// "MMAP layout". The kernel never writes over what we have not released (we do not use overwrite mode), so a
// record may be decoded in place; only one that wraps round the end is copied together first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/mapping.h"
#include "base/result.h"

namespace fathom::sources {

// Takes whole records out of a ring's data. Pure: positions are arguments. `data` has a power of two of
// bytes; positions run on for ever and are taken modulo its size.
class RecordReader {
 public:
  RecordReader(std::span<const std::byte> data, std::uint64_t tail, std::uint64_t head);

  // The next record, header included; valid until the next call. nullopt at the end, and from a record with
  // an impossible size on: the start of the next one is unknown, so everything up to head is skipped.
  std::optional<std::span<const std::byte>> next();

  std::uint64_t position() const { return tail_; }  // all before it is ours no more
  bool malformed() const { return malformed_; }

 private:
  std::span<const std::byte> data_;
  std::uint64_t tail_, head_;
  std::vector<std::byte> wrapped_;
  bool malformed_ = false;
};

class PerfRing {
 public:
  // Maps the ring of the event `fd`, which must outlive it. `bytes`: a power of two of pages. kPermission:
  // more than the limit of locked memory allows.
  static Result<PerfRing> map(int fd, std::size_t bytes);

  // Calls visit(std::span<const std::byte> record) for what is there now. A record is given back to the
  // kernel as soon as its visit is over: with copied stacks a ring holds few of them.
  template <class Visit>
  void drain(Visit&& visit) {
    RecordReader reader(data_, tail(), head());
    while (const auto record = reader.next()) {
      visit(*record);
      release(reader.position());
    }
    release(reader.position());
    if (reader.malformed()) ++malformed_;
  }

  std::size_t size() const { return data_.size(); }
  std::uint64_t malformed() const { return malformed_; }  // times that a drain met a size that cannot be true

 private:
  PerfRing(Mapping mapping, std::span<const std::byte> data) : mapping_(std::move(mapping)), data_(data) {}
  std::uint64_t head() const;
  std::uint64_t tail() const;
  void release(std::uint64_t tail);

  Mapping mapping_;
  std::span<const std::byte> data_;
  std::uint64_t malformed_ = 0;
};

}  // namespace fathom::sources
