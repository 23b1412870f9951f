#include "present/svg/scripts.h"

#include <string>

#include "present/svg/packed_scripts.h"

namespace fathom::present {

std::string_view flame_graph_script() {
  static const std::string text = packed::text_of(kPackedFlameGraphScript);
  return text;
}

std::string_view heap_timeline_script() {
  static const std::string text = packed::text_of(kPackedHeapTimelineScript);
  return text;
}

}  // namespace fathom::present
