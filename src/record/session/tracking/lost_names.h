// The files whose names were given up, as what read them was ended: one sentence for all of them.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fathom::session {

class LostNames {
 public:
  // `why` as of symbolize::Worker: "ended by signal 9".
  void add(std::string_view file, std::string_view why);
  // "" if no names were lost.
  std::string sentence() const;

 private:
  std::vector<std::pair<std::string, std::string>> files_;
};

}  // namespace fathom::session
