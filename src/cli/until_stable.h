// `record --until-stable`: the recording ends by itself once the shares of the functions that take most CPU time are known as
// well as was asked for, or at its limit of time, and says which it was.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/diff/stable_shares.h"
#include "record/session/companion.h"

namespace fathom::cli {

inline constexpr double kMostUntilStable_s = 300;  // without -d
inline constexpr std::size_t kStableFunctions = 10;

class StableCompanion final : public session::Companion {
 public:
  // `precision`: half of the interval that each share may have at most, of all CPU time: 0.01 is one point.
  explicit StableCompanion(double precision) : precision_(precision) {}

  void step(const Lent& lent, std::uint64_t now_ns) override;
  Save before_save(const Lent& lent, bool last) override;

  // What was reached, in a sentence, which is a note of the recording, too. From the last save on.
  const std::string& sentence() const { return sentence_; }

 private:
  // An interval that is narrow once may be so by chance.
  static constexpr int kLooks = 2;
  std::vector<analysis::KnownShare> top(const model::Profile& profile, std::uint64_t now_ns) const;
  void finish(model::Profile& profile);

  double precision_;
  analysis::StableShares shares_;
  std::uint64_t next_look_ns_ = 0, now_ns_ = 0;
  int precise_looks_ = 0;
  std::string sentence_;
};

}  // namespace fathom::cli
