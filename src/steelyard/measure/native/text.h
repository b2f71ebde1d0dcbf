// Joins words and numbers. Operators on strings would be inlined and optimised in every program that uses them.
#pragma once
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>

namespace steelyard {

// A word or a number; it refers to its word.
class TextPart {
 public:
  TextPart(const char* word) : kind_(Kind::word), word_(word) {}
  TextPart(std::string_view word) : kind_(Kind::word), word_(word) {}
  TextPart(const std::string& word) : kind_(Kind::word), word_(word) {}
  template <std::integral I>
  TextPart(I x) : kind_(std::is_signed_v<I> ? Kind::whole : Kind::natural), whole_(static_cast<std::int64_t>(x)) {}
  TextPart(double x) : kind_(Kind::real), real_(x) {}
  TextPart(char letter) : kind_(Kind::letter), letter_(letter) {}
  TextPart(bool) = delete;
  void append_to(std::string& text) const;

 private:
  enum class Kind { word, letter, whole, natural, real } kind_;
  union {
    std::string_view word_;
    char letter_;
    std::int64_t whole_;
    double real_;
  };
};

// All parts as one text; real numbers as in JSON.
std::string join(std::initializer_list<TextPart> parts);

}  // namespace steelyard
