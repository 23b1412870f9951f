#include "base/arch/common/function_ends.h"

namespace fathom::arch {

FunctionEnds function_ends(std::span<const CodePart>) {
  FunctionEnds none;
  none.problem = "fathom does not decode the instructions of this processor";
  return none;
}

}  // namespace fathom::arch
