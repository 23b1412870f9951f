// Messages from a compromised reader of names to the recorder. Accepted ones must come back the same after
// writing them again, with as many chains of names as were requested.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "binary/symbolize/name_messages.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fathom::symbolize;
  if (size == 0) return 0;
  const std::size_t addresses = data[0] % 8, places = data[0] / 8 % 4;
  const auto bytes = std::as_bytes(std::span(data + 1, size - 1));
  if (const auto answer = decode_answer(bytes, addresses, places)) {
    if (answer->names.size() != addresses || answer->places.size() != places) std::abort();
    const auto again = decode_answer(encode_answer(*answer), addresses, places);
    if (!again || *again != *answer) std::abort();
  }
  if (const auto request = decode_request(bytes)) {
    const auto again = decode_request(encode_request(*request));
    if (!again || *again != *request) std::abort();
  }
  return 0;
}
