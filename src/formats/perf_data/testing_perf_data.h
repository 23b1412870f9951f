// For tests: a perf.data written by hand, as a file, as through a pipe, or packed.
#pragma once

#include <linux/perf_event.h>
#include <zstd.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace fathom::formats::testing {

class Bytes {
 public:
  template <class T>
  Bytes& put(T value) {
    text_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  Bytes& text(std::string_view text) {
    text_ += text;
    return *this;
  }
  // With the zeros behind it that a record has.
  Bytes& padded(std::string_view text) {
    text_ += text;
    text_.append(8 - text.size() % 8, '\0');
    return *this;
  }
  const std::string& str() const { return text_; }

 private:
  std::string text_;
};

inline std::string record(std::uint32_t type, std::uint16_t misc, const Bytes& body) {
  return Bytes()
      .put(type)
      .put(misc)
      .put(static_cast<std::uint16_t>(body.str().size() + 8))
      .text(body.str())
      .str();
}

// Ids of events are 100, 101, ...; every event has the fields of `attributes(type, config)`.
inline constexpr std::uint64_t kFields =
    PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD;
inline perf_event_attr attributes(std::uint32_t type, std::uint64_t config, std::uint64_t more_fields = 0) {
  perf_event_attr attributes{};
  attributes.type = type;
  attributes.size = sizeof attributes;
  attributes.config = config;
  attributes.sample_type = kFields | more_fields;
  attributes.sample_id_all = 1;
  attributes.freq = 1;
  attributes.sample_freq = 99;
  return attributes;
}

inline Bytes trailer(std::int32_t pid, std::int32_t tid, std::uint64_t time_ns) {
  return Bytes().put(pid).put(tid).put(time_ns).put(std::uint64_t{100});
}
inline std::string comm(std::int32_t pid, std::int32_t tid, std::string_view name, std::uint64_t time_ns = 0,
                        bool exec = false) {
  return record(PERF_RECORD_COMM, exec ? PERF_RECORD_MISC_COMM_EXEC : 0,
                Bytes().put(pid).put(tid).padded(name).text(trailer(pid, tid, time_ns).str()));
}
inline std::string mapped(std::int32_t pid, std::uint64_t start, std::uint64_t size, std::uint64_t offset,
                          std::string_view path, std::uint64_t inode = 0, std::uint32_t major = 0,
                          std::uint32_t minor = 0) {
  return record(PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER,
                Bytes()
                    .put(pid)
                    .put(pid)
                    .put(start)
                    .put(size)
                    .put(offset)
                    .put(major)
                    .put(minor)
                    .put(inode)
                    .put(std::uint64_t{0})
                    .put(std::uint32_t{5})
                    .put(std::uint32_t{2})
                    .padded(path)
                    .text(trailer(pid, pid, 0).str()));
}
inline std::string forked(std::int32_t pid, std::int32_t parent, std::uint64_t time_ns) {
  return record(
      PERF_RECORD_FORK, 0,
      Bytes().put(pid).put(parent).put(pid).put(parent).put(time_ns).text(trailer(pid, pid, time_ns).str()));
}
struct SampleSpec {
  std::uint64_t id = 100, ip = 0;
  std::int32_t pid = 7, tid = 7;
  std::uint64_t time_ns = 1'000'000'000, period = 10'000'000;
  std::vector<std::uint64_t> chain = {};  // written where the event has PERF_SAMPLE_CALLCHAIN: not empty
  std::string rest = {};                  // of the other fields
  std::uint16_t misc = PERF_RECORD_MISC_USER;
};
inline std::string sample(const SampleSpec& spec) {
  Bytes body;
  body.put(spec.id).put(spec.ip).put(spec.pid).put(spec.tid).put(spec.time_ns).put(spec.period);
  if (!spec.chain.empty()) {
    body.put(std::uint64_t{spec.chain.size()});
    for (const std::uint64_t address : spec.chain) body.put(address);
  }
  return record(PERF_RECORD_SAMPLE, spec.misc, body.text(spec.rest));
}
inline std::string switched(std::uint64_t id, std::int32_t tid, std::uint64_t time_ns, std::uint64_t state,
                            std::int32_t next, std::uint64_t ip) {
  const std::string fields = Bytes()
                                 .text(std::string(24, '\0'))
                                 .put(tid)
                                 .put(std::int32_t{120})
                                 .put(state)
                                 .text(std::string(16, '\0'))
                                 .put(next)
                                 .put(std::int32_t{120})
                                 .put(std::uint32_t{0})  // the record's padding
                                 .str();
  return sample({.id = id,
                 .ip = ip,
                 .tid = tid,
                 .time_ns = time_ns,
                 .period = 1,
                 .rest = Bytes().put(static_cast<std::uint32_t>(fields.size())).text(fields).str()});
}

// The file of these events and records.
inline std::string perf_file(const std::vector<perf_event_attr>& events, const std::string& records) {
  constexpr std::uint64_t kHead = 104, kRow = sizeof(perf_event_attr) + 16;
  const std::uint64_t ids = kHead + events.size() * kRow, data = ids + events.size() * 8;
  Bytes file;
  file.text("PERFILE2").put(kHead).put(kRow).put(kHead).put(events.size() * kRow);
  file.put(data).put(std::uint64_t{records.size()}).text(std::string(16 + 32, '\0'));
  for (std::size_t i = 0; i < events.size(); ++i) file.put(events[i]).put(ids + i * 8).put(std::uint64_t{8});
  for (std::uint64_t i = 0; i < events.size(); ++i) file.put(100 + i);
  return file.text(records).str();
}
inline std::string perf_pipe(const std::vector<perf_event_attr>& events, const std::string& records) {
  Bytes file;
  file.text("PERFILE2").put(std::uint64_t{16});
  for (std::uint64_t i = 0; i < events.size(); ++i)
    file.text(record(64, 0, Bytes().put(events[i]).put(100 + i)));
  return file.text(records).str();
}
// One stream of zstd, in pieces that end inside of records.
inline std::string packed(const std::string& records, std::size_t piece = 50) {
  ZSTD_CCtx* const context = ZSTD_createCCtx();
  std::string all, room(ZSTD_compressBound(records.size()) + 1024, '\0');
  for (std::size_t at = 0; at < records.size(); at += piece) {
    const std::string part = records.substr(at, piece);
    ZSTD_inBuffer in{part.data(), part.size(), 0};
    ZSTD_outBuffer out{room.data(), room.size(), 0};
    while (ZSTD_compressStream2(context, &out, &in, ZSTD_e_flush) != 0) {
    }
    all += record(81, 0, Bytes().text(room.substr(0, out.pos)));
  }
  ZSTD_freeCCtx(context);
  return all;
}

}  // namespace fathom::formats::testing
