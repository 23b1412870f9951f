#include "linux/perf/decoder.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <string>
#include <vector>

#include "linux/perf/event.h"
#include "linux/perf/side_band.h"

namespace fathom::sources {
namespace {

// Writes a record as include/uapi/linux/perf_event.h lays it out.
class Record {
 public:
  explicit Record(std::uint32_t type, std::uint16_t misc = 0) { put(type), put(misc), put(std::uint16_t{0}); }
  template <class T>
  Record& put(T value) {
    const auto* bytes = reinterpret_cast<const std::byte*>(&value);
    bytes_.insert(bytes_.end(), bytes, bytes + sizeof value);
    return *this;
  }
  Record& put_text(const std::string& text) {
    for (char c : text) put(c);
    put('\0');
    while (bytes_.size() % 8 != 0) put('\0');
    return *this;
  }
  Record& trailer(std::int32_t pid, std::int32_t tid, std::uint64_t time) {
    return put(pid).put(tid).put(time).put(std::uint32_t{1}).put(std::uint32_t{0});
  }
  std::vector<std::byte> bytes() const {
    std::vector<std::byte> all = bytes_;
    const auto size = static_cast<std::uint16_t>(all.size());
    std::memcpy(all.data() + 6, &size, sizeof size);
    return all;
  }

 private:
  std::vector<std::byte> bytes_;
};

perf_event_attr side_band_attributes() {
  perf_event_attr attributes = base_attributes();
  report_tasks(attributes);
  return attributes;
}

perf_event_attr sampling_attributes() {
  perf_event_attr attributes = side_band_attributes();
  attributes.sample_type |= PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
  attributes.sample_regs_user = RecordDecoder::kUserRegisters;
  attributes.sample_stack_user = 32;
  return attributes;
}

template <class T = Event>
std::optional<T> decode(const Record& record, const perf_event_attr& attributes = side_band_attributes()) {
  const auto event = RecordDecoder(attributes).decode(record.bytes(), 3);
  EXPECT_TRUE(event.has_value()) << event.error().message;
  if (!event || !*event) return std::nullopt;
  if constexpr (std::is_same_v<T, Event>)
    return **event;
  else if (const T* is = std::get_if<T>(&**event))
    return *is;
  return std::nullopt;
}

Record mmap_record(const std::string& path, std::uint64_t inode = 77) {
  return Record(PERF_RECORD_MMAP2)
      .put(std::int32_t{10})
      .put(std::int32_t{11})
      .put(std::uint64_t{0x7f0000001000})
      .put(std::uint64_t{0x2000})
      .put(std::uint64_t{0x3000})
      .put(std::uint32_t{0xfe})
      .put(std::uint32_t{1})
      .put(inode)
      .put(std::uint64_t{5})
      .put(std::uint32_t{PROT_READ | PROT_EXEC})
      .put(std::uint32_t{MAP_PRIVATE})
      .put_text(path)
      .trailer(10, 11, 1000);
}

TEST(Decoder, MappingIsWhatMapsWouldSay) {
  EXPECT_EQ(decode<MemoryMapped>(mmap_record("/opt/a b.so")),
            (MemoryMapped{.time_ns = 1000,
                          .pid = 10,
                          .tid = 11,
                          .mapping = {.start = {0x7f0000001000},
                                      .end = {0x7f0000003000},
                                      .readable = true,
                                      .executable = true,
                                      .offset = {0x3000},
                                      .device_major = 0xfe,
                                      .device_minor = 1,
                                      .inode = 77,
                                      .path = "/opt/a b.so"}}));
}

TEST(Decoder, MappingWithoutAFileHasNoName) {
  EXPECT_EQ(decode<MemoryMapped>(mmap_record("//anon", 0))->mapping.path, "");
  EXPECT_EQ(decode<MemoryMapped>(mmap_record("[vdso]", 0))->mapping.path, "[vdso]");
}

TEST(Decoder, MappingOfADeletedFileIsMarked) {
  const auto event = decode<MemoryMapped>(mmap_record("/memfd:jit (deleted)"));
  EXPECT_EQ(event->mapping.path, "/memfd:jit");
  EXPECT_TRUE(event->mapping.deleted);
}

TEST(Decoder, CommWithTheExecBitIsAnotherProgram) {
  const auto comm = [](std::uint16_t misc) {
    return Record(PERF_RECORD_COMM, misc)
        .put(std::int32_t{10})
        .put(std::int32_t{10})
        .put_text("redis-server")
        .trailer(10, 10, 50);
  };
  EXPECT_EQ(decode<ProcessExeced>(comm(PERF_RECORD_MISC_COMM_EXEC)),
            (ProcessExeced{50, 10, 10, "redis-server"}));
  EXPECT_EQ(decode<ThreadNamed>(comm(0)), (ThreadNamed{50, 10, 10, "redis-server"}));
}

Record task_record(std::uint32_t type, std::int32_t pid, std::int32_t parent, std::int32_t tid) {
  return Record(type)
      .put(pid)
      .put(parent)
      .put(tid)
      .put(std::int32_t{10})
      .put(std::uint64_t{60})
      .trailer(10, 10, 61);
}

TEST(Decoder, ForkOfAThreadAndOfAProcess) {
  EXPECT_EQ(decode<ThreadStarted>(task_record(PERF_RECORD_FORK, 10, 10, 12)), (ThreadStarted{60, 10, 12}));
  EXPECT_EQ(decode<ProcessForked>(task_record(PERF_RECORD_FORK, 20, 10, 20)), (ProcessForked{60, 20, 10}));
  EXPECT_EQ(decode<ThreadEnded>(task_record(PERF_RECORD_EXIT, 10, 10, 12)), (ThreadEnded{60, 10, 12}));
}

TEST(Decoder, ProcessOutsideOfOurNamespaceIsLeftOut) {
  EXPECT_FALSE(decode(task_record(PERF_RECORD_FORK, 0, 0, 0)));
  EXPECT_FALSE(decode(task_record(PERF_RECORD_EXIT, -1, -1, -1)));
}

TEST(Decoder, SwitchesShowWhetherTheThreadWasRunnable) {
  const auto out = static_cast<std::uint16_t>(PERF_RECORD_MISC_SWITCH_OUT);
  const auto preempted = static_cast<std::uint16_t>(out | PERF_RECORD_MISC_SWITCH_OUT_PREEMPT);
  EXPECT_EQ(decode<ThreadSwitched>(Record(PERF_RECORD_SWITCH).trailer(10, 11, 70)),
            (ThreadSwitched{70, 10, 11, 3, false, false}));
  EXPECT_EQ(decode<ThreadSwitched>(Record(PERF_RECORD_SWITCH, out).trailer(10, 11, 70)),
            (ThreadSwitched{70, 10, 11, 3, true, false}));
  EXPECT_EQ(decode<ThreadSwitched>(
                Record(PERF_RECORD_SWITCH_CPU_WIDE, preempted).put(std::uint64_t{9}).trailer(10, 11, 70)),
            (ThreadSwitched{70, 10, 11, 3, true, true}));
}

TEST(Decoder, LostAndThrottledAreEvents) {
  const Record lost = Record(PERF_RECORD_LOST).put(std::uint64_t{1}).put(std::uint64_t{42}).trailer(1, 1, 80);
  EXPECT_EQ(decode<Lost>(lost), (Lost{80, 42, Lost::What::kRecords}));
  EXPECT_EQ(decode<Lost>(lost, sampling_attributes()), (Lost{80, 42, Lost::What::kSamples}));
  const auto throttle = [](std::uint32_t type) {
    return Record(type).put(std::uint64_t{90}).put(std::uint64_t{1}).put(std::uint64_t{2}).trailer(0, 0, 91);
  };
  EXPECT_EQ(decode<Throttled>(throttle(PERF_RECORD_THROTTLE)), (Throttled{90, 3, true}));
  EXPECT_EQ(decode<Throttled>(throttle(PERF_RECORD_UNTHROTTLE)), (Throttled{90, 3, false}));
}

TEST(Decoder, LostAndThrottledOfARedirectedEventAreUnderstoodWithAnyTrailer) {
  EXPECT_EQ(decode<Lost>(Record(PERF_RECORD_LOST).put(std::uint64_t{1}).put(std::uint64_t{42})),
            (Lost{0, 42, Lost::What::kRecords}));
  EXPECT_EQ(decode<Throttled>(Record(PERF_RECORD_THROTTLE).put(std::uint64_t{90})), (Throttled{90, 3, true}));
  EXPECT_FALSE(decode(Record(PERF_RECORD_SAMPLE).put(std::uint64_t{1})));
}

TEST(Decoder, UnknownRecordIsSkipped) {
  EXPECT_FALSE(decode(Record(200).trailer(1, 1, 1)));
}

// A sample with two kernel frames, and 8 of 32 copied bytes valid.
Record sample_record(std::uint64_t abi = PERF_SAMPLE_REGS_ABI_64, std::uint64_t valid = 8) {
  Record record(PERF_RECORD_SAMPLE);
  record.trailer(10, 11, 100)
      .put(std::uint64_t{5})
      .put(static_cast<std::uint64_t>(PERF_CONTEXT_KERNEL))
      .put(std::uint64_t{0xffffffff81000001})
      .put(std::uint64_t{0xffffffff81000002})
      .put(static_cast<std::uint64_t>(PERF_CONTEXT_USER))
      .put(std::uint64_t{0x401000})
      .put(abi);
  if (abi != PERF_SAMPLE_REGS_ABI_NONE)
    record.put(std::uint64_t{0xb0}).put(std::uint64_t{0x7ffc0000}).put(std::uint64_t{0x401000});
  if (abi == PERF_SAMPLE_REGS_ABI_NONE) return record.put(std::uint64_t{0});
  record.put(std::uint64_t{32});
  for (std::uint64_t word = 1; word <= 4; ++word) record.put(word);
  return record.put(valid);
}

TEST(Decoder, SampleHasRegistersTheValidPartOfTheStackAndKernelFrames) {
  const auto sample = decode<CopiedStackSample>(sample_record(), sampling_attributes());
  ASSERT_TRUE(sample);
  EXPECT_EQ(sample->time_ns, 100u);
  EXPECT_EQ(sample->pid, 10);
  EXPECT_EQ(sample->tid, 11);
  EXPECT_EQ(sample->cpu, 1);
  EXPECT_TRUE(sample->has_user);
  EXPECT_EQ(sample->instruction_pointer, 0x401000u);
  EXPECT_EQ(sample->stack_pointer, 0x7ffc0000u);
  EXPECT_EQ(sample->frame_pointer, 0xb0u);
  ASSERT_EQ(sample->stack.size(), 8u);
  EXPECT_EQ(sample->stack[0], std::byte{1});
  EXPECT_EQ(sample->kernel, (std::vector<std::uint64_t>{0xffffffff81000001, 0xffffffff81000002}));
}

TEST(Decoder, SampleOfAThreadWithoutUserMemoryHasOnlyKernelFrames) {
  const auto sample =
      decode<CopiedStackSample>(sample_record(PERF_SAMPLE_REGS_ABI_NONE), sampling_attributes());
  ASSERT_TRUE(sample);
  EXPECT_FALSE(sample->has_user);
  EXPECT_TRUE(sample->stack.empty());
  EXPECT_EQ(sample->kernel.size(), 2u);
}

TEST(Decoder, ThirtyTwoBitProgramIsNotWalked) {
  const auto sample =
      decode<CopiedStackSample>(sample_record(PERF_SAMPLE_REGS_ABI_32), sampling_attributes());
  ASSERT_TRUE(sample);
  EXPECT_FALSE(sample->has_user);
}

TEST(Decoder, StackLongerThanItsCopyIsRefused) {
  EXPECT_FALSE(
      RecordDecoder(sampling_attributes()).decode(sample_record(PERF_SAMPLE_REGS_ABI_64, 33).bytes(), 0));
}

TEST(Decoder, EveryCutRecordIsRefused) {
  const std::vector<Record> records{mmap_record("/x"), task_record(PERF_RECORD_FORK, 1, 2, 1),
                                    sample_record(), Record(PERF_RECORD_SWITCH).trailer(1, 1, 1),
                                    Record(PERF_RECORD_THROTTLE).put(std::uint64_t{1})};
  for (const Record& record : records) {
    const std::vector<std::byte> whole = record.bytes();
    EXPECT_TRUE(RecordDecoder(sampling_attributes()).decode(whole, 0));
    for (std::size_t size = 0; size < whole.size(); ++size) {
      std::vector<std::byte> cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
      EXPECT_FALSE(RecordDecoder(sampling_attributes()).decode(cut, 0)) << "header says more than there is";
      if (size < 8) continue;
      const auto claimed = static_cast<std::uint16_t>(size);
      std::memcpy(cut.data() + 6, &claimed, sizeof claimed);
      // A shorter body may still hold all fixed fields (the name of a mapping is the rest), but never the
      // other way.
      const auto event = RecordDecoder(sampling_attributes()).decode(cut, 0);
      if (!event) {
        EXPECT_EQ(event.error().kind, ErrorKind::kMalformed);
      }
      if (whole.size() - size > 64) {
        EXPECT_FALSE(event) << size;
      }
    }
  }
}

}  // namespace
}  // namespace fathom::sources
