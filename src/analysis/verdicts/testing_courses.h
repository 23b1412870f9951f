// Programs whose memory has a course in time that is known beforehand, with nothing but the course in them: they
// ask for blocks and give them back at times that are given to them. A process that has real time runs them
// (bench/heap_course_target.cpp), and a test that has none (heap_courses_test.cpp).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace fathom::analysis {

// The code that requests a block.
enum class CourseSite : std::uint8_t { kRequest, kBase, kLeak, kCache, kTable, kQueue, kSession, kBatch };
inline constexpr std::array<std::string_view, 8> kCourseSites = {"site_request", "site_base",  "site_leak",
                                                                 "site_cache",   "site_table", "site_queue",
                                                                 "site_session", "site_batch"};

class CourseHeap {
 public:
  virtual ~CourseHeap() = default;
  virtual std::uint64_t allocate(CourseSite site, std::size_t size) = 0;
  virtual void free(std::uint64_t block) = 0;
  virtual std::uint64_t reallocate(CourseSite site, std::uint64_t block, std::size_t size) = 0;
};

// Equal everywhere: the distributions of the standard library are not.
class CourseRandom {
 public:
  explicit CourseRandom(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15u + 0x2545F4914F6CDD1Du) {
    for (int i = 0; i < 8; ++i) next();
  }
  std::uint64_t next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    return state_ ^= state_ << 17;
  }
  std::uint64_t below(std::uint64_t limit) { return (next() >> 11) % limit; }
  double unit() { return (static_cast<double>(next() >> 11) + 0.5) * 0x1p-53; }
  double between(double low, double high) { return low + (high - low) * unit(); }
  // Each power of ten as often as the next.
  double scale(double low, double high) { return low * std::pow(high / low, unit()); }
  double exponential(double mean) { return -mean * std::log(unit()); }

 private:
  std::uint64_t state_;
};

// What one program does. `tick` is called for every 20 ms, with the seconds since the start.
struct Course {
  double grows_bytes_per_s = 0;  // without end; 0: it does not
  CourseSite grows_at = CourseSite::kLeak;
  std::function<void(double now_s)> tick;
};
inline constexpr double kCourseTick_s = 0.02;

namespace courses {

// How often something that happens `per_s` times a second happens in a tick.
class Pace {
 public:
  explicit Pace(double per_s) : per_tick_(per_s * kCourseTick_s) {}
  std::uint64_t next(CourseRandom& random) {
    // Poisson, by the waits between.
    std::uint64_t count = 0;
    for (; wait_ <= per_tick_; ++count) wait_ += random.exponential(1);
    wait_ -= per_tick_;
    return count;
  }

 private:
  double per_tick_, wait_ = 0.5;
};

struct Tools {
  CourseHeap& heap;
  CourseRandom& random;
  double seconds;  // that the whole course takes
};

// The oldest goes when there are more than `most`.
struct Fifo {
  std::deque<std::uint64_t> blocks;
  void put(Tools tools, CourseSite site, std::size_t size, std::size_t most) {
    blocks.push_back(tools.heap.allocate(site, size));
    while (blocks.size() > most) {
      tools.heap.free(blocks.front());
      blocks.pop_front();
    }
  }
};

// A cache that fills and drops a part of its entries when it is full; plus a leak.
inline Course leak(Tools tools, double bytes_per_s) {
  struct State {
    std::vector<std::uint64_t> cache;
    Pace puts, leaks;
    std::size_t most;
  };
  const double mean = 600;
  auto state = std::make_shared<State>(State{{},
                                             Pace(tools.random.scale(100, 800)),
                                             Pace(bytes_per_s / mean),
                                             static_cast<std::size_t>(tools.random.scale(500, 4000))});
  return {bytes_per_s, CourseSite::kLeak, [state, tools](double) {
            for (auto left = state->puts.next(tools.random); left != 0; --left)
              state->cache.push_back(tools.heap.allocate(CourseSite::kCache, 4096));
            for (auto left = state->leaks.next(tools.random); left != 0; --left)
              tools.heap.allocate(CourseSite::kLeak, 100 + tools.random.below(1001));
            if (state->cache.size() <= state->most) return;
            const std::size_t kept = state->most / 2 + tools.random.below(state->most / 4);
            while (state->cache.size() > kept) {
              std::swap(state->cache[tools.random.below(state->cache.size())], state->cache.back());
              tools.heap.free(state->cache.back());
              state->cache.pop_back();
            }
          }};
}

// Too little for sampling to show within a minute, next to a cache that is full.
inline Course drip(Tools tools) {
  struct State {
    Fifo cache;
    Pace puts, leaks;
  };
  auto state = std::make_shared<State>(State{{}, Pace(200), Pace(2)});
  return {200, CourseSite::kLeak, [state, tools](double) {
            for (auto left = state->puts.next(tools.random); left != 0; --left)
              state->cache.put(tools, CourseSite::kCache, 4096, 500);
            for (auto left = state->leaks.next(tools.random); left != 0; --left)
              tools.heap.allocate(CourseSite::kLeak, 100);
          }};
}

// Elements are appended for ever; the room for them is doubled when it is full.
inline Course vector(Tools tools) {
  struct State {
    std::uint64_t block;
    double used = 0, room = 4096, per_s;
  };
  auto state = std::make_shared<State>(
      State{tools.heap.allocate(CourseSite::kTable, 4096), 0, 4096, tools.random.scale(16e3, 1e6)});
  return {state->per_s, CourseSite::kTable, [state, tools](double) {
            state->used += state->per_s * kCourseTick_s;
            while (state->used > state->room) {
              state->room *= 2;
              state->block = tools.heap.reallocate(CourseSite::kTable, state->block,
                                                   static_cast<std::size_t>(state->room));
            }
          }};
}

// Entries are added forever; the table is reallocated at twice the size when it is full.
inline Course growing_map(Tools tools) {
  struct State {
    Pace puts;
    std::uint64_t table;
    std::uint64_t entries = 0, room = 64;
  };
  const double per_s = tools.random.scale(50, 1000);
  auto state =
      std::make_shared<State>(State{Pace(per_s), tools.heap.allocate(CourseSite::kTable, 64 * 8), 0, 64});
  return {per_s * 208, CourseSite::kCache, [state, tools](double) {
            for (auto left = state->puts.next(tools.random); left != 0; --left) {
              tools.heap.allocate(CourseSite::kCache, 200);
              if (++state->entries <= state->room) continue;
              state->room *= 2;
              const std::uint64_t wider = tools.heap.allocate(CourseSite::kTable, state->room * 8);
              tools.heap.free(state->table);
              state->table = wider;
            }
          }};
}

// A constant number of entries, replaced all the time; the table is rebuilt every few seconds, because
// deleted slots fill it.
inline Course rehashed_map(Tools tools) {
  struct State {
    std::vector<std::uint64_t> entries;
    std::uint64_t table = 0;
    std::size_t table_bytes;
    Pace changes, rehashes;
  };
  const double count = tools.random.scale(2000, 20'000);
  auto state = std::make_shared<State>(State{{},
                                             0,
                                             static_cast<std::size_t>(count * tools.random.between(16, 200)),
                                             Pace(count / tools.seconds * tools.random.scale(1, 30)),
                                             Pace(tools.random.scale(6, 100) / tools.seconds)});
  state->table = tools.heap.allocate(CourseSite::kTable, state->table_bytes);
  while (state->entries.size() < static_cast<std::size_t>(count))
    state->entries.push_back(tools.heap.allocate(CourseSite::kCache, 100 + tools.random.below(400)));
  return {0, CourseSite::kLeak, [state, tools](double) {
            for (auto left = state->changes.next(tools.random); left != 0; --left) {
              std::uint64_t& entry = state->entries[tools.random.below(state->entries.size())];
              tools.heap.free(entry);
              entry = tools.heap.allocate(CourseSite::kCache, 100 + tools.random.below(400));
            }
            for (auto left = state->rehashes.next(tools.random); left != 0; --left) {
              const std::uint64_t other = tools.heap.allocate(CourseSite::kTable, state->table_bytes);
              tools.heap.free(state->table);
              state->table = other;
            }
          }};
}

// What came since the last flush goes with the next one.
inline Course flush(Tools tools) {
  struct State {
    std::vector<std::uint64_t> batch;
    Pace puts;
    double period_s, next_s;
    std::size_t size;
  };
  const double period = tools.seconds * tools.random.scale(0.03, 0.2);
  auto state = std::make_shared<State>(State{{},
                                             Pace(tools.random.scale(20, 500)),
                                             period,
                                             period,
                                             static_cast<std::size_t>(tools.random.scale(256, 8192))});
  return {0, CourseSite::kLeak, [state, tools](double now_s) {
            for (auto left = state->puts.next(tools.random); left != 0; --left)
              state->batch.push_back(tools.heap.allocate(CourseSite::kBatch, state->size));
            if (now_s < state->next_s) return;
            state->next_s += state->period_s;
            for (const std::uint64_t block : state->batch) tools.heap.free(block);
            state->batch.clear();
          }};
}

// A cache that still fills: requested entries are kept, and requested again more and more often.
inline Course filling(Tools tools) {
  struct State {
    std::vector<char> has;
    Pace asks;
    std::size_t size;
  };
  const auto keys = static_cast<std::size_t>(tools.random.scale(1000, 20'000));
  const double time_constant = tools.seconds * tools.random.between(0.2, 0.6);
  auto state =
      std::make_shared<State>(State{std::vector<char>(keys), Pace(static_cast<double>(keys) / time_constant),
                                    static_cast<std::size_t>(tools.random.scale(256, 8192))});
  return {0, CourseSite::kLeak, [state, tools](double) {
            for (auto left = state->asks.next(tools.random); left != 0; --left) {
              char& has = state->has[tools.random.below(state->has.size())];
              if (has == 0) tools.heap.allocate(CourseSite::kCache, state->size);
              has = 1;
            }
          }};
}

// The least recently used goes when a new one comes; full after the given part of the time.
inline Course lru(Tools tools, double low, double high) {
  struct State {
    Fifo cache;
    Pace puts;
    std::size_t most, size;
  };
  const double per_s = tools.random.scale(20, 1000), full_s = tools.seconds * tools.random.between(low, high);
  auto state =
      std::make_shared<State>(State{{},
                                    Pace(per_s),
                                    std::max<std::size_t>(8, static_cast<std::size_t>(per_s * full_s)),
                                    static_cast<std::size_t>(tools.random.scale(256, 8192))});
  return {0, CourseSite::kLeak, [state, tools](double) {
            for (auto left = state->puts.next(tools.random); left != 0; --left)
              state->cache.put(tools, CourseSite::kCache, state->size, state->most);
          }};
}

// Work that comes in bursts and is done at an even pace.
inline Course queue(Tools tools) {
  struct State {
    std::deque<std::uint64_t> waiting;
    Pace quiet, burst, done;
    double change_s = 0, mean_s;
    bool bursts = false;
    std::size_t size;
  };
  const double per_s = tools.random.scale(100, 1000);
  auto state = std::make_shared<State>(State{{},
                                             Pace(per_s * 0.3),
                                             Pace(per_s * 1.5),
                                             Pace(per_s),
                                             0,
                                             tools.seconds * tools.random.scale(0.005, 0.04),
                                             false,
                                             static_cast<std::size_t>(tools.random.scale(256, 8192))});
  return {0, CourseSite::kLeak, [state, tools](double now_s) {
            if (now_s >= state->change_s) {
              state->bursts = !state->bursts;
              state->change_s = now_s + tools.random.exponential(state->mean_s);
            }
            for (auto left = (state->bursts ? state->burst : state->quiet).next(tools.random); left != 0;
                 --left)
              state->waiting.push_back(tools.heap.allocate(CourseSite::kQueue, state->size));
            for (auto left = state->done.next(tools.random); left != 0 && !state->waiting.empty(); --left) {
              tools.heap.free(state->waiting.front());
              state->waiting.pop_front();
            }
          }};
}

// Sessions come and go, each for a time of its own.
inline Course server(Tools tools) {
  struct State {
    std::vector<std::pair<double, std::uint64_t>> sessions;  // a heap: the first to end
    Pace logins;
    double mean_life_s;
    std::size_t size;
  };
  auto state = std::make_shared<State>(State{{},
                                             Pace(tools.random.scale(10, 300)),
                                             tools.seconds * tools.random.scale(0.02, 0.4),
                                             static_cast<std::size_t>(tools.random.scale(256, 16384))});
  return {0, CourseSite::kLeak, [state, tools](double now_s) {
            const auto later = [](const auto& a, const auto& b) { return a.first > b.first; };
            for (auto left = state->logins.next(tools.random); left != 0; --left) {
              state->sessions.emplace_back(now_s + tools.random.exponential(state->mean_life_s),
                                           tools.heap.allocate(CourseSite::kSession, state->size));
              std::push_heap(state->sessions.begin(), state->sessions.end(), later);
            }
            while (!state->sessions.empty() && state->sessions.front().first <= now_s) {
              std::pop_heap(state->sessions.begin(), state->sessions.end(), later);
              tools.heap.free(state->sessions.back().second);
              state->sessions.pop_back();
            }
          }};
}

}  // namespace courses

struct CourseRow {
  std::string_view name;
  Course (*make)(courses::Tools tools);
};
inline constexpr std::array<CourseRow, 13> kCourses = {{
    {"leak-1", [](courses::Tools tools) { return courses::leak(tools, 1024); }},
    {"leak-10", [](courses::Tools tools) { return courses::leak(tools, 10 * 1024); }},
    {"leak-100", [](courses::Tools tools) { return courses::leak(tools, 100 * 1024); }},
    {"drip", courses::drip},
    {"vector", courses::vector},
    {"map", courses::growing_map},
    {"rehash", courses::rehashed_map},
    {"flush", courses::flush},
    {"filling", courses::filling},
    {"full-late", [](courses::Tools tools) { return courses::lru(tools, 0.4, 0.85); }},
    {"lru", [](courses::Tools tools) { return courses::lru(tools, 0.02, 0.3); }},
    {"queue", courses::queue},
    {"server", courses::server},
}};

// What a report says about a course, and whether that is wrong.
struct CourseVerdict {
  std::string kind, function;     // as JSON has them; function empty: the whole heap
  double unseen_bytes_per_s = 0;  // a growth below this would not be seen; 0: it does not say
};
enum class CourseError : std::uint8_t { kNone, kNoLeak, kCandidate };  // "it does not grow", "it leaks"
inline CourseError error_of(const Course& course, const CourseVerdict& verdict) {
  const std::string& kind = verdict.kind;
  const bool grows = course.grows_bytes_per_s > 0;
  const bool of_growing =
      verdict.function.empty() || verdict.function == kCourseSites[static_cast<std::size_t>(course.grows_at)];
  if (kind == "leak" || kind == "growing" || kind == "grows-with-work")
    return grows && (of_growing || course.grows_at == CourseSite::kCache) ? CourseError::kNone
                                                                          : CourseError::kCandidate;
  if (!grows || !of_growing) return CourseError::kNone;
  if (kind == "falling") return CourseError::kNoLeak;
  if (kind == "level" || kind == "noise" || kind == "cache" || kind == "bloat")
    return verdict.unseen_bytes_per_s < course.grows_bytes_per_s ? CourseError::kNoLeak : CourseError::kNone;
  return CourseError::kNone;
}

// The course of this name, plus the work that all of them do: requests that are answered and forgotten, at
// an even pace, and tables that stay. `heap` and `random` outlive it; `seconds`: how long it will run.
inline Course make_course(std::string_view name, CourseHeap& heap, CourseRandom& random, double seconds) {
  const auto row =
      std::find_if(kCourses.begin(), kCourses.end(), [&](const CourseRow& of) { return of.name == name; });
  if (row == kCourses.end()) return {};
  heap.allocate(CourseSite::kBase, 256 * 1024);
  Course course = row->make({heap, random, seconds});
  course.tick = [&heap, &random, tick = std::move(course.tick)](double now_s) {
    for (int i = 0; i < 4; ++i) heap.free(heap.allocate(CourseSite::kRequest, 100 + random.below(400)));
    tick(now_s);
  };
  return course;
}

}  // namespace fathom::analysis
