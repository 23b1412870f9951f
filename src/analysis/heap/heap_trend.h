// Does a series of live bytes grow? Pure statistics of one series of values at uneven times.
//
// Live bytes at two moments are not independent: most blocks of the one are those of the other. A line fitted
// as if they were would call every slow swing a growth. The interval of the slope is therefore that of the
// least squares line with the number of independent values in place of the number of values: n (1 - r) / (1 +
// r), where r is the correlation of neighbouring residuals (Santer et al. 2000, "Statistical significance of
// trends and trend differences in layer-average atmospheric temperature time series", J. Geophys. Res. 105,
// section 3), corrected for its bias in short series (Kendall 1954) and enlarged by 0.68 / sqrt(n), as it is
// itself an estimate (Nychka et al. 2000, cited there). That holds for noise whose memory fades at one rate.
// Noise with a second, slower swing hides it from neighbours, so the same is done with the means of blocks of
// 2, 4, 8 ... values, and the widest interval counts. The alternative, a Newey-West sum of covariances, is
// too narrow in series as short as ours. The tests measure both promises, false alarms and slopes inside of
// their intervals, for noise whose memory is shorter than half of the series; longer swings are
// indistinguishable from growth.
//
// Sampled series bring the variance of each change along, and that of each value. An error that is made when
// a block is sampled stays as long as the block: such errors add up like a walk, which residuals show only in
// part, but never to more than the error of what is live. Both bound what is added to the variance of the
// slope.
#pragma once

#include <cstdint>
#include <span>

namespace fathom::analysis {

struct TrendPoint {
  double at_s = 0;             // rising
  double value = 0;            // bytes
  double change_variance = 0;  // of the change since the point before; 0 where every call was seen
  double variance = 0;         // of the value
};

enum class TrendShape : std::uint8_t {
  kTooShort,  // fewer than 8 values
  kNoise,     // up and down, too much to tell whether there is a slope
  kPlateau,   // level within a tenth of its height; where it rose, it has stopped
  kGrowing,
  kSteps,  // rises, but most of it in three jumps at most
  kFalling,
};

// Of a line through the values. `low` and `high`: the 95 % interval.
struct TrendLine {
  double per_s = 0, low = 0, high = 0;
  double r2 = 0;  // share of the variation of the values that the line explains, 0 to 1
  double independent_values = 0;
  bool known = false;  // there were values enough: otherwise the interval is empty
};

struct Trend {
  TrendShape shape = TrendShape::kTooShort;
  double duration_s = 0;
  double first = 0, last = 0;  // values at both ends
  TrendLine slope;             // of everything after the warm-up
  TrendLine whole;             // with the warm-up
  // Plateau test, of what follows the warm-up: how much higher the last third is on average than the one
  // before it, half of the 95 % interval of that, and whether its maximum is above all before.
  double late_rise = 0, late_rise_error = 0;
  bool new_maximum = false;
  double warm_up_s = 0;  // the values rose until then, much faster than later; 0: no such time
  double swing = 0;      // standard deviation around the line
  // Of what follows the warm-up: its later half rises by a quarter less than the first at least, or its last
  // quarter by half less than what is before; or it is sure that they rise by more than half as much. Neither
  // where too little is known.
  bool slowing = false, goes_on = false;
  // The slope lies above zero, with no more false alarms than were allowed. What has this is never called level, a cache or
  // noise, also where its last third alone does not show it.
  bool rises = false;
  bool level_at_last = false;              // the last third hardly moves: what rose before has stopped
  double early_per_s = 0, late_per_s = 0;  // of both halves
  unsigned steps = 0;                      // kSteps: jumps that make four fifths of the rise
  double last_step_s = 0;
  // If no slope is significant: how long a recording must be to detect a slope that adds a tenth to the
  // level in this recording's time; 0 if unknown.
  double needed_s = 0;
  // Change over the time after the warm-up, as the line has it.
  double growth() const { return slope.per_s * (duration_s - warm_up_s); }
};

// `false_alarms`: how often noise without trend may be called growing or falling; for many series at once,
// 0.05 divided by their number. The returned intervals are those of 95 %.
Trend find_trend(std::span<const TrendPoint> points, double false_alarms = 0.05);

// The value that a t distribution of `freedom` degrees is beyond with probability `tail`.
double t_quantile(double tail, double freedom);

}  // namespace fathom::analysis
