#include "record/bpf/ring_events.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <random>
#include <vector>

namespace fathom::sources {
namespace {

// A record that is too short, or of an unknown kind, is a loss and not nothing.
TEST(RingEvents, EveryRecordIsAnEventOrALoss) {
  std::mt19937 random(1);
  for (unsigned kind = 0; kind < 256; ++kind) {
    for (const std::size_t size : {1, 2, 7, 8, 15, 24, 31, 40, 64, 100, 200, 400}) {
      std::vector<std::byte> record(size);
      for (std::byte& byte : record) byte = static_cast<std::byte>(random());
      record[0] = static_cast<std::byte>(kind);
      std::vector<Event> events;
      decode_ring_event(record, events);
      ASSERT_EQ(events.size(), 1u) << "kind " << kind << ", " << size << " bytes";
      if (size == 1) {
        EXPECT_EQ(std::get<Lost>(events[0]), (Lost{0, 1, Lost::What::kMalformed})) << "kind " << kind;
      }
    }
  }
  std::vector<Event> events;
  decode_ring_event({}, events);
  EXPECT_EQ(events.size(), 1u);
}

}  // namespace
}  // namespace fathom::sources
