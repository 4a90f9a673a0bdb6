#pragma once

#include <cstddef>
#include <functional>
#include <future>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace packsim {

/// Values by key, of which each is made once: a thread that asks for a value that another one is making waits
/// for it. The value that was asked for longest ago is forgotten where there are too many.
template <typename T>
class OnceMap {
 public:
  /// most: number of values that are kept, at least 1.
  explicit OnceMap(std::size_t most) : most_(most) {}

  /// If make throws, it throws for all that wait for the value; the next call makes it again.
  std::shared_ptr<const T> get(const std::string& key, const std::function<T()>& make) {
    std::promise<std::shared_ptr<const T>> promise;
    std::shared_future<std::shared_ptr<const T>> value;
    bool is_new = false;
    {
      const std::scoped_lock lock(mutex_);
      auto known = places_.find(key);
      is_new = known == places_.end();
      if (is_new) {
        values_.push_front({key, promise.get_future().share()});
        known = places_.emplace(key, values_.begin()).first;
        forget_oldest();
      } else {
        values_.splice(values_.begin(), values_, known->second);
      }
      value = known->second->second;
    }
    if (!is_new) return value.get();
    try {
      promise.set_value(std::make_shared<const T>(make()));
    } catch (...) {
      promise.set_exception(std::current_exception());
      forget(key);
    }
    return value.get();
  }

 private:
  using Entry = std::pair<std::string, std::shared_future<std::shared_ptr<const T>>>;

  void forget_oldest() {
    if (values_.size() <= most_) return;
    places_.erase(values_.back().first);
    values_.pop_back();
  }
  void forget(const std::string& key) {
    const std::scoped_lock lock(mutex_);
    const auto known = places_.find(key);
    if (known == places_.end()) return;
    values_.erase(known->second);
    places_.erase(known);
  }

  std::size_t most_;
  std::mutex mutex_;
  std::list<Entry> values_;  // those asked for latest come first
  std::map<std::string, typename std::list<Entry>::iterator> places_;
};

}  // namespace packsim
