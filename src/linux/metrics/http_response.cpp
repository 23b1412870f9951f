#include "linux/metrics/http_response.h"

#include <algorithm>
#include <utility>

#include "base/parse.h"
#include "base/text.h"

namespace fathom::metrics {
namespace {

constexpr std::size_t kMostLine = 4096;

template <class T>
bool parse(std::string_view text, T& value, int base = 10) {
  const auto number = parse_number<T>(text, base);
  value = number.value_or(0);
  return number.has_value();
}

}  // namespace

bool HttpResponse::take_line(std::string_view& line) {
  const std::string_view rest = std::string_view(in_).substr(taken_);
  const std::size_t end = rest.find('\n', seen_);
  if (end == rest.npos) {
    seen_ = rest.size();
    if (rest.size() > kMostLine) refuse(State::kTooLong);
    return false;
  }
  line = rest.substr(0, end);
  if (line.ends_with('\r')) line.remove_suffix(1);
  taken_ += end + 1;
  seen_ = 0;
  return true;
}

bool HttpResponse::parse_head(std::string_view head) {
  std::optional<std::uint64_t> length;
  bool chunked = false, first = true;
  while (!head.empty()) {
    std::string_view line = take_until(head, '\n');
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (std::exchange(first, false)) {
      // "HTTP/1.1 200 OK"
      if (!line.starts_with("HTTP/1.") || line.size() < 12 || line[8] != ' ' ||
          !parse(line.substr(9, 3), status_) || (line.size() > 12 && line[12] != ' ') || status_ < 100 ||
          status_ > 599)
        return refuse(State::kMalformed);
      continue;
    }
    if (line.empty()) continue;
    const std::size_t colon = line.find(':');
    if (colon == line.npos || colon == 0) return refuse(State::kMalformed);
    const std::string name = lower_case(line.substr(0, colon));
    const std::string_view value = trimmed(line.substr(colon + 1), " \t");
    headers_.emplace_back(name, value);
    if (name == "content-length") {
      std::uint64_t bytes = 0;
      if (!parse(value, bytes) || (length && *length != bytes)) return refuse(State::kMalformed);
      length = bytes;
    } else if (name == "transfer-encoding") {
      if (lower_case(value) != "chunked" || chunked) return refuse(State::kMalformed);
      chunked = true;
    } else if (name == "content-type") {
      content_type_ = value.substr(0, 200);
    } else if (name == "content-encoding") {
      content_encoding_ = lower_case(value.substr(0, 40));
    }
  }
  if (status_ < 200) {  // "go on": the answer itself follows
    status_ = 0;
    headers_.clear();
    return true;
  }
  if (length && chunked) return refuse(State::kMalformed);  // two opinions of where it ends
  if (status_ == 204 || status_ == 304) return finish();
  if (chunked) {
    part_ = Part::kChunkSize;
  } else if (length) {
    if (*length > bounds_.body_bytes) return refuse(State::kTooLong);
    left_ = *length;
    part_ = Part::kLength;
  } else {
    part_ = Part::kToEnd;
  }
  return true;
}

// False: there is nothing more to take, or no more is needed.
bool HttpResponse::step() {
  const std::string_view rest = std::string_view(in_).substr(taken_);
  std::string_view line;
  switch (part_) {
    case Part::kHead: {
      // Its end may lie in two pieces.
      const std::size_t from = seen_ < 3 ? 0 : seen_ - 3;
      std::size_t end = rest.find("\r\n\r\n", from), size = 4;
      if (const std::size_t bare = rest.find("\n\n", from); bare < end) end = bare, size = 2;
      seen_ = rest.size();
      if (end == rest.npos) return rest.size() > bounds_.head_bytes ? refuse(State::kTooLong) : false;
      if (end > bounds_.head_bytes) return refuse(State::kTooLong);
      taken_ += end + size;
      seen_ = 0;
      return parse_head(rest.substr(0, end));
    }
    case Part::kLength:
    case Part::kChunk: {
      const std::size_t size = static_cast<std::size_t>(std::min<std::uint64_t>(left_, rest.size()));
      body_ += rest.substr(0, size);
      taken_ += size;
      left_ -= size;
      if (left_ != 0) return false;
      if (part_ == Part::kLength) return finish();
      part_ = Part::kChunkEnd;
      return true;
    }
    case Part::kToEnd:
      if (body_.size() + rest.size() > bounds_.body_bytes) return refuse(State::kTooLong);
      body_ += rest;
      taken_ += rest.size();
      return false;
    case Part::kChunkSize:
      if (!take_line(line)) return false;
      if (!parse(trimmed(line.substr(0, line.find(';')), " \t"), left_, 16)) return refuse(State::kMalformed);
      if (left_ > bounds_.body_bytes - body_.size()) return refuse(State::kTooLong);
      part_ = left_ == 0 ? Part::kTrailer : Part::kChunk;
      return true;
    case Part::kChunkEnd:
      if (!take_line(line)) return false;
      if (!line.empty()) return refuse(State::kMalformed);
      part_ = Part::kChunkSize;
      return true;
    case Part::kTrailer:
      if (!take_line(line)) return false;
      trailer_bytes_ += line.size() + 1;
      if (trailer_bytes_ > bounds_.head_bytes) return refuse(State::kTooLong);
      return line.empty() ? finish() : true;
  }
  return false;
}

HttpResponse::State HttpResponse::feed(std::string_view bytes) {
  if (state_ != State::kIncomplete) return state_;
  in_ += bytes;
  while (state_ == State::kIncomplete && step()) {
  }
  in_.erase(0, taken_);
  taken_ = 0;
  return state_;
}

HttpResponse::State HttpResponse::end() {
  if (state_ == State::kIncomplete) state_ = part_ == Part::kToEnd ? State::kWhole : State::kMalformed;
  return state_;
}

}  // namespace fathom::metrics
