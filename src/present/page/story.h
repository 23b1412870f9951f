// What the page says in words before it shows anything: the report's own sentences, each with the view that proves it.
#pragma once

#include <string>
#include <vector>

#include "model/profile.h"

namespace fathom::page {

struct Claim {
  std::string subject;  // "CPU", "Waiting": what the sentence is about
  std::string text;
  std::string metric;  // as --metric takes it; empty: no view proves it
  std::string focus;   // as --focus takes it; empty: all stacks
};

struct Story {
  std::string headline, quality;
  std::vector<Claim> claims;
  std::vector<std::string> complaints;  // what makes the numbers worth less, with what to do; printable
};

Story tell(const model::Profile& profile);

}  // namespace fathom::page
