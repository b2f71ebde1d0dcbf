// The parameters of a case: a line of `name=value` words. Reading a parameter declares it.
#pragma once
#include <cstddef>
#include <initializer_list>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "text.h"

namespace steelyard {

// A case that cannot be run. Its record has this reason, and the next case follows.
struct CaseError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Params {
 public:
  explicit Params(std::string_view line);

  std::string word(std::string_view name, std::string_view otherwise);
  // Returns the parameter, which must be one of `allowed`. The error for any other value lists them.
  std::string choice(std::string_view name, std::string_view otherwise,
                     std::initializer_list<std::string_view> allowed);
  std::size_t count(std::string_view name, std::size_t otherwise);
  double number(std::string_view name, double otherwise);

  // The same for words that are no parameters of the kernel: those of the harness, and those for readers of the record
  // only.
  std::string own_word(std::string_view name, std::string_view otherwise);
  std::size_t own_count(std::string_view name, std::size_t otherwise);
  double own_number(std::string_view name, double otherwise);
  void pass_over(std::initializer_list<const char*> names);

  // Returns the names of the case that nothing read, because a misspelt parameter must not be ignored.
  std::vector<std::string> unread() const;
  const std::map<std::string, std::string>& read() const { return read_; }

 private:
  template <class T>
  T number_of(const std::string& name, T otherwise, const char* expected);

  std::map<std::string, std::string> given_, read_;
  std::set<std::string> own_;
};

// Returns the numbers of a list such as "0,2,5"; -1 for an element that is not a number.
std::vector<int> numbers(const std::string& list);

}  // namespace steelyard
