#include "model/system_call.h"

#include <algorithm>

#include "base/arch/call_numbers.h"
#include "base/arch/common/system_calls.h"

namespace fathom::model {
namespace {

const arch::SystemCall* find(std::int32_t number) {
  const auto calls = arch::system_calls();
  const auto call = std::ranges::lower_bound(calls, number, {}, &arch::SystemCall::number);
  return call != calls.end() && call->number == number ? &*call : nullptr;
}

}  // namespace

std::string_view system_call_name(std::int32_t number) {
  const arch::SystemCall* call = find(number);
  return call == nullptr ? std::string_view() : call->name;
}

bool moves_bytes(std::int32_t number) {
  return call_moves_bytes(number) != 0;
}

bool takes_descriptor(std::int32_t number) {
  const arch::SystemCall* call = find(number);
  return call != nullptr && call->takes_descriptor;
}

}  // namespace fathom::model
