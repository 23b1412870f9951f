#include "binary/dwarf/rules.h"

namespace fathom::dwarf {

unwind_rule rule_of(const FrameState&, const Cie&) {
  unwind_rule rule{};
  rule.cfa = CFA_UNSUPPORTED;
  return rule;
}

}  // namespace fathom::dwarf
