// Writes JSON, the only output format of a kernel program.
#pragma once
#include <concepts>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace steelyard::json {

std::string text(std::string_view s);

// An undefined number becomes null: JSON has no NaN, and 0 would be wrong.
std::string number(double x);
std::string whole(long long x);
std::string whole(unsigned long long x);
template <std::integral I>
std::string number(I x) {
  if constexpr (std::is_signed_v<I>) return whole(static_cast<long long>(x));
  return whole(static_cast<unsigned long long>(x));
}
inline std::string boolean(bool b) { return b ? "true" : "false"; }

// Returns a JSON array. `said` returns the JSON of one value.
template <class T, class Said>
std::string list(const std::vector<T>& values, Said said) {
  std::string out = "[";
  for (const auto& v : values) {
    if (out.size() > 1) out += ',';
    out += said(v);
  }
  return out + "]";
}
template <class T>
std::string list(const std::vector<T>& values) {
  return list(values, [](const T& v) {
    if constexpr (std::is_convertible_v<T, std::string_view>)
      return text(v);
    else
      return number(v);
  });
}

// An object whose values are numbers, or JSON already.
class Object {
 public:
  Object& add(std::string_view name, const std::string& json);
  Object& add(std::string_view name, double x);
  Object& add(std::string_view name, long long x);
  Object& add(std::string_view name, unsigned long long x);
  template <std::integral I>
    requires(!std::same_as<I, bool>)  // true or 1?
  Object& add(std::string_view name, I x) {
    if constexpr (std::is_signed_v<I>) return add(name, static_cast<long long>(x));
    return add(name, static_cast<unsigned long long>(x));
  }
  // Adds all members of another object.
  Object& add(const Object& other);
  std::string str() const { return out_ + "}"; }

 private:
  std::string out_ = "{";
};

std::string object(const std::map<std::string, std::string>& words);

}  // namespace steelyard::json
