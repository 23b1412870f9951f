// The metrics that a watch serves: the newest reading of each process, and the watch's own cost. Pure.
// docs/metrics.md names and explains all of them.
//
// A series is identified by the process's name and its place among those of the same name, never by its
// number: a restarted process continues the series of the one before. Names of memory parts come from a fixed
// list, so a process has at most kMostSeries, whatever it maps. Ended processes keep two series each, and
// only the last kMostEnded do.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "linux/metrics/families.h"
#include "tools/watch/history.h"

namespace fathom::watch {

inline constexpr std::size_t kMostSeries = 70;  // of one process

// A name as the value of a label: two names are two values. Control characters and what is no UTF-8 are written as \x0a,
// a backslash as two. Pure.
std::string label_of_name(std::string_view name);

// Which place a process has among those of its name: the lowest that is free.
class Places {
 public:
  static constexpr std::size_t kMostEnded = 64;

  struct Place {
    std::string name;
    std::uint32_t number = 0;  // starts at 1
    auto operator<=>(const Place&) const = default;
  };
  Place take(const std::string& name);
  // The place stays known until kMostEnded others were left after it, and none took it.
  void leave(const Place& place);
  // How many processes had it so far; 0 if it is no longer known.
  std::uint64_t starts(const Place& place) const;
  // All that are known: those that are taken, and the last ones that were left.
  const std::map<Place, std::uint64_t>& all() const { return starts_; }

 private:
  std::set<Place> taken_;
  std::deque<Place> left_;  // unused ones, the one freed first in front
  std::map<Place, std::uint64_t> starts_;
};

struct OwnFigures {
  std::uint64_t cpu_ns = 0, rss = 0, served = 0, refused = 0;
};

// `views`: of the live processes; a place without one is reported as down.
struct ServedView {
  Places::Place place;
  const View* view = nullptr;
};
std::vector<metrics::Family> make_families(const std::vector<ServedView>& views, const Places& places,
                                           const OwnFigures& own);

}  // namespace fathom::watch
