// What kind of growth met the limit, and what limit would have been enough. Pure: from differences over a window.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace fathom::flight {

enum class GrowthKind : std::uint8_t {
  kNone,       // nothing grew: the limit is below what it needs at once
  kLeak,       // live blocks, of which hardly any are freed, at a steady rate
  kGrowing,    // live blocks at a steady rate, many of which are freed: a queue, a table, a leak among others
  kFilling,    // live blocks that grow ever more slowly: a cache that fills
  kRetained,   // free memory that the allocator keeps
  kHugePages,  // huge pages around blocks that need little of them
  kMapped,     // anonymous memory that the program mapped itself, without an allocator
  kAnonymous,  // anonymous memory; its owner is unknown
  kShared,     // memfd, tmpfs, shared memory
  kPageTables,      // the kernel's tables for the addresses in use
  kPageCache,       // files that were read or written; they are in no process
  kMappedDatabase,  // pages of mapped files
};
std::string_view to_string(GrowthKind kind);  // "leak" ...: for JSON

enum class Sureness : std::uint8_t { kLow, kMedium, kHigh };
std::string_view to_string(Sureness sureness);

// Bytes by which each grew within the window (negative: it shrank), and how much there was at its end.
struct Change {
  double grew = 0, at_end = 0;
};

struct GrowthFacts {
  double window_s = 0;
  Change anonymous, file, shared, page_tables;  // of the process
  std::optional<Change> page_cache;  // of its control group, beyond the files that it maps; nullopt: not read
  // Parts of the anonymous memory. nullopt: not known.
  std::optional<Change> live;    // blocks, where the heap was traced
  double live_error = 0;         // of live->grew, half of the 95 % interval
  std::optional<Change> slack;   // of allocators, in no live block
  std::optional<Change> mapped;  // by the program itself
  std::optional<Change> huge;    // on huge pages
  // Of the function that holds most at the end.
  std::optional<double> freed_share;  // blocks that were freed, of those that were allocated
  std::optional<double> late_share;   // growth of the last third of the window, of the mean third; 1: steady
  std::optional<double> major_faults_per_s;
};

struct GrowthVerdict {
  GrowthKind kind = GrowthKind::kNone;
  Sureness sureness = Sureness::kLow;
  double grew = 0;       // bytes: of what grew most
  double of_all = 0;     // share of all that grew
  double explained = 0;  // share of `grew` that the kind explains
};
GrowthVerdict classify(const GrowthFacts& facts);

// Whether another limit would have helped.
enum class HeadroomKind : std::uint8_t {
  kNotKnown,
  kNoneHelps,    // it grows at a steady rate: a larger limit puts the end off
  kLevelsOff,    // it slows down; where it would stop is unknown
  kGivesWay,     // what grew is reclaimed before any process is killed: `needed` has to fit
  kNeedsAtOnce,  // nothing grew: more than `needed`
};
struct Headroom {
  HeadroomKind kind = HeadroomKind::kNotKnown;
  double needed = 0;            // bytes that cannot be taken back, at the end
  double seconds_at_twice = 0;  // kNoneHelps: how much longer it lasts with twice the limit
};
// `limit`: that was met; 0: not known. `per_second`: of what cannot be taken back, over the window.
Headroom headroom_of(const GrowthFacts& facts, const GrowthVerdict& verdict, double limit, double per_second);

}  // namespace fathom::flight
