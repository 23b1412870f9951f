#include "analysis/core/name_pattern.h"

#include <fmt/format.h>
#include <regex.h>

#include "analysis/core/words.h"

namespace fathom::analysis {

// Owns a compiled POSIX expression. std::regex recurses once per character and dies on long names.
class NamePattern::Expression {
 public:
  Expression() = default;
  Expression(const Expression&) = delete;
  Expression& operator=(const Expression&) = delete;
  ~Expression() {
    if (compiled_) regfree(&state_);
  }
  int compile(const std::string& text) {
    const int error = regcomp(&state_, text.c_str(), REG_EXTENDED | REG_NOSUB);
    compiled_ = error == 0;
    return error;
  }
  std::string reason(int error) const {
    char reason[128];
    regerror(error, &state_, reason, sizeof reason);
    return reason;
  }
  bool matches(const std::string& text) const { return regexec(&state_, text.c_str(), 0, nullptr, 0) == 0; }

 private:
  regex_t state_{};
  bool compiled_ = false;
};

Result<NamePattern> NamePattern::parse(const std::string& text) {
  NamePattern pattern;
  pattern.text_ = text;
  pattern.shown_ = ShownName(text);
  if (text.size() <= 2 || text.front() != '/' || text.back() != '/') return pattern;
  const std::string inner = text.substr(1, text.size() - 2);
  const auto expression = std::make_shared<Expression>();
  if (const int error = expression->compile(inner); error != 0)
    return fail(ErrorKind::kUsage, fmt::format("'{}' is not a regular expression: {}", printable(inner),
                                               expression->reason(error)));
  pattern.expression_ = expression;
  return pattern;
}

bool NamePattern::matches(const std::string& name) const {
  if (expression_) return expression_->matches(name);
  return !text_.empty() && (name.find(text_) != std::string::npos || shown_.fit(name) != NameFit::kNone);
}

NameFit NamePattern::fit(const std::string& name) const {
  if (expression_) return expression_->matches(name) ? NameFit::kName : NameFit::kNone;
  return shown_.fit(name);
}

}  // namespace fathom::analysis
