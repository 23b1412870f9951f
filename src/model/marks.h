// Named moments of a recording (`record --marks`, triggers of the flight recorder, dumps of a heap): phases of a program, each from its mark to
// the next one or to the end. A phase that came several times is several runs.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/profile.h"

namespace fathom::model {

inline constexpr const char* kMarksFact = "marks";  // a line each, "12.3 s: NAME", oldest first

struct Phase {
  std::string name;
  double from_s = 0;
  std::optional<double> to_s;  // nothing: to the end of the recording
};

// In the order of time. Untrusted text: what is no mark is left out.
std::vector<Phase> phases_of(const Profile& profile);

// A line of kMarksFact, without its end.
std::string mark_line(double at_s, std::string_view name);

}  // namespace fathom::model
