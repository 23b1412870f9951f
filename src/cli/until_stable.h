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

// A recording has one companion: `other` gets all calls too, and outlives this one.
class StableCompanion final : public session::Companion {
 public:
  // `precision`: half of the interval that each share may have at most, of all CPU time: 0.01 is one point.
  StableCompanion(double precision, session::Companion& other) : precision_(precision), other_(other) {}

  bool walks_stacks() const override { return other_.walks_stacks(); }
  void open() override { other_.open(); }
  void begin(const Lent& lent) override {
    watch(lent.profile);
    other_.begin(lent);
  }
  void watch(model::Profile& profile) { profile_ = &profile; }
  void look_first(std::uint64_t now_ns) override { other_.look_first(now_ns); }
  void step(std::uint64_t now_ns) override;
  void looked() override { other_.looked(); }
  Save before_save(model::Profile& profile, bool last) override;
  bool enough() const override { return precise_looks_ >= kLooks || other_.enough(); }
  void finish() override;

  // What was reached, in a sentence, which is a note of the recording, too. From finish() on.
  const std::string& sentence() const { return sentence_; }

 private:
  // An interval that is narrow once may be so by chance.
  static constexpr int kLooks = 2;
  std::vector<analysis::KnownShare> top(std::uint64_t now_ns) const;

  double precision_;
  session::Companion& other_;
  model::Profile* profile_ = nullptr;  // from begin() on
  analysis::StableShares shares_;
  std::uint64_t next_look_ns_ = 0, now_ns_ = 0;
  int precise_looks_ = 0;
  std::string sentence_;
};

}  // namespace fathom::cli
