// The waits that a selection takes, each with its cause: the base of every table about waiting, and of the
// trees of off-cpu and wall. A wait that crosses an edge of the window counts with the part inside.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <vector>

#include "analysis/core/heap.h"
#include "analysis/core/idle.h"
#include "analysis/core/selection.h"
#include "analysis/core/wait_cause.h"
#include "model/profile.h"
#include "model/row_cursor.h"

namespace fathom::analysis {

// What a wait stands for. Walks are drawn at random and weighted so that sums are right on average; how long the waits of a thread
// took in all is known, so what stands for others is scaled to that.
struct WaitWeight {
  // A weight as recorded is one, too.
  WaitWeight(std::uint32_t weight = 1) : count(weight), times(static_cast<float>(weight)) {}
  WaitWeight(std::uint32_t weight, float scale, float of_unwalked)
      : count(weight), times(1 + static_cast<float>(weight - 1) * scale), per_ns(of_unwalked) {}
  std::uint32_t count;  // so many waits, itself included
  float times;          // so many times its own duration
  // 1 / ns of all unwalked waits, if this is scaled to what is known about them; otherwise 0.
  float per_ns = 0;
};

struct SelectedWait {
  model::Wait wait;                            // as recorded
  std::uint64_t waited_ns = 0, queued_ns = 0;  // inside the window; of this one wait, not times its weight
  std::uint32_t weight = 1;                    // as recorded; its times count as Waits::weight() says
  float scale = 1, queue_scale = 1;            // of the waits it represents in addition to itself; by thread
  Cause cause = Cause::kUnknown;               // of waited_ns
  Cause queue_cause = Cause::kRunQueue;        // of queued_ns
  std::optional<std::uint8_t> idle;            // the rule that calls waited_ns no problem
};

class SelectedWaits;

class Waits {
 public:
  // `profile` outlives it and does not change.
  Waits(const model::Profile& profile, const Selection& selection);

  // In the order of Profile::all_waits(). A row is made when it is read: hold on to its number, not to its address.
  SelectedWaits rows() const;
  std::uint64_t filtered() const { return filtered_; }  // rows that the selection leaves out
  WaitWeight weight(const SelectedWait& row) const { return {row.weight, row.scale, per_unwalked_ns_}; }
  WaitWeight queue_weight(const SelectedWait& row) const {
    return {row.weight, row.queue_scale, per_unwalked_ns_};
  }
  model::Wait wait(const SelectedWait& row) const { return row.wait; }
  const WaitCauses& causes() const { return causes_; }
  const RuledWaits& idle() const { return idle_; }
  const model::Profile& profile() const { return profile_; }

 private:
  friend class SelectedWaits;
  static constexpr std::uint8_t kNotIdle = UINT8_MAX;
  // What was found out about a wait, in eight bytes: an hour of a server has millions of waits, and the rest follows from them.
  struct Kept {
    std::uint32_t row = 0;  // of Profile::all_waits()
    Cause cause = Cause::kUnknown, queue_cause = Cause::kRunQueue;
    std::uint8_t idle = kNotIdle;
    bool takes_waited : 1 = true, takes_queued : 1 = true;
  };
  struct Scales {
    float waited = 1, queued = 1;
  };

  SelectedWait selected(const Kept& kept, const model::Wait& wait) const;
  void scale_to_known_sums(bool whole);
  void fit_to_window(const Selection& selection);
  void keep_crowds();
  void find_rest();
  void keep_chosen(const Selection& selection);
  bool has_weights() const;
  const model::Profile& profile_;
  WaitCauses causes_;
  RuledWaits idle_;
  Filter filter_;
  std::vector<Kept> rows_;
  std::vector<Scales> scales_;  // by thread
  std::uint64_t filtered_ = 0;
  float per_unwalked_ns_ = 0;
};

// `of` outlives it.
class SelectedWaits {
 public:
  explicit SelectedWaits(const Waits& of) : of_(&of) {}
  std::size_t size() const { return of_->rows_.size(); }
  bool empty() const { return size() == 0; }
  SelectedWait operator[](std::size_t row) const {
    const Waits::Kept& kept = of_->rows_[row];
    return of_->selected(kept, of_->profile_.all_waits()[kept.row]);
  }

  class Iterator {
   public:
    using value_type = SelectedWait;
    using difference_type = std::ptrdiff_t;
    using iterator_concept = std::input_iterator_tag;
    explicit Iterator(const Waits& of) : of_(&of), waits_(of.profile_.packed_waits, of.profile_.waits) {}
    SelectedWait operator*() const {
      const Waits::Kept& kept = of_->rows_[row_];
      return of_->selected(kept, waits_.at(kept.row));
    }
    Iterator& operator++() {
      ++row_;
      return *this;
    }
    void operator++(int) { ++row_; }
    bool operator==(std::default_sentinel_t) const { return row_ == of_->rows_.size(); }

   private:
    const Waits* of_;
    mutable model::RowCursor<model::Wait> waits_;
    std::size_t row_ = 0;
  };
  Iterator begin() const { return Iterator(*of_); }
  std::default_sentinel_t end() const { return {}; }

 private:
  const Waits* of_;
};

inline SelectedWaits Waits::rows() const {
  return SelectedWaits(*this);
}

// An estimate from waits that stand for others. Exact when all weights are 1.
class WaitSum {
 public:
  void add(std::uint64_t ns, WaitWeight weight);
  double waits() const { return waits_; }              // with those that they stand for
  std::uint64_t walked() const { return walked_; }     // rows
  std::int64_t total_ns() const { return total_ns_; }  // at most 2^63 - 1
  std::uint64_t max_ns() const { return max_ns_; }
  double mean_ns() const { return waits_ > 0 ? static_cast<double>(total_ns_) / waits_ : 0; }
  double variance() const;  // of total_ns
  // Half of the 95 % interval of total_ns. Horvitz and Thompson 1952: a wait that was walked with probability
  // 1/w adds d^2 w (w - 1). If the total of all waits is known, only the division is estimated: a share p of the total has 1 - p of
  // that variance.
  double error_ns() const;
  double waits_error() const;  // the same of waits()

 private:
  double waits_ = 0, variance_ = 0, count_variance_ = 0;
  double part_ = 0;  // of what was not walked
  std::uint64_t walked_ = 0, max_ns_ = 0;
  std::int64_t total_ns_ = 0;
};

// ns * weight, at most 2^63 - 1.
std::int64_t weighted_ns(std::uint64_t ns, std::uint32_t weight);
std::int64_t weighted_ns(std::uint64_t ns, const WaitWeight& weight);

// The value of a sample that the selection takes, in the metric's unit: for wall, CPU samples are time.
std::int64_t value_of(const model::Sample& sample, model::Metric metric, double period_ns);

// visit(thread, value) for every sample, wait and site of the heap that a tree of this selection is made of;
// the values add up without overflow.
template <class Visit>
void for_each_value(const model::Profile& profile, const Selection& selection, Visit visit) {
  const Filter filter(profile, selection);
  const bool wall = selection.metric == model::Metric::kWall;
  const double period = wall ? sample_period_ns(profile) : 1;
  ValueBudget budget;
  for (const model::Sample& sample : profile.all_samples()) {
    if (filter.takes(sample) && period != 0)
      visit(sample.thread, budget.take(value_of(sample, selection.metric, period)));
  }
  if (model::is_heap(selection.metric) && !profile.heap.empty()) {
    const HeapSums heap(profile, selection);
    for (std::uint32_t i = 0; i < profile.heap.sites.size(); ++i) {
      const model::ThreadId thread = profile.heap.sites[i].thread;
      const double value = heap.value({i}, selection.metric, unit_of_heap(selection)).value;
      if (heap.takes({i}) && thread != model::kNoThread && value > 0)
        visit(thread, budget.take(std::llround(std::min(value, 9e18))));
    }
  }
  if (!wall && selection.metric != model::Metric::kOffCpu) return;
  const Waits waits(profile, selection);
  for (const SelectedWait& row : waits.rows()) {
    const std::int64_t waited = budget.take(weighted_ns(row.waited_ns, waits.weight(row)));
    visit(waits.wait(row).thread, waited + budget.take(weighted_ns(row.queued_ns, waits.queue_weight(row))));
  }
}

}  // namespace fathom::analysis
