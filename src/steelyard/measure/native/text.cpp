// Numbers and letters of a text that is joined.
#include "text.h"

#include "json.h"

namespace steelyard {

[[gnu::cold]] void TextPart::append_to(std::string& text) const {
  switch (kind_) {
    case Kind::word:
      text.append(word_);
      break;
    case Kind::letter:
      text.append(1, letter_);
      break;
    case Kind::whole:
      text.append(std::to_string(whole_));
      break;
    case Kind::natural:
      text.append(std::to_string(static_cast<std::uint64_t>(whole_)));
      break;
    case Kind::real:
      text.append(json::number(real_));
  }
}

std::string join(std::initializer_list<TextPart> parts) {
  std::string text;
  for (const TextPart& part : parts) part.append_to(text);
  return text;
}

}  // namespace steelyard
