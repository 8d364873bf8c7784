// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_BINDINGS_NODE_HANDLE_H_
#define LOCUS_BINDINGS_NODE_HANDLE_H_

#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>

namespace locus_node {

// An object of liblocus, which is closed once, when no call on it is under way.
// Thread safety: all methods may be called from any thread.
class Handle {
 public:
  // `kind` is a literal, for messages: "generator".
  Handle(const char* kind, void* object, void (*close)(void*));
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() { End(); }

  const char* kind() const { return kind_; }
  // The object, which stays until Leave; nullptr: it is closed, or being closed, and Leave must not
  // be called.
  void* Enter();
  void Leave();
  // Refuses calls from now on.
  void Refuse();
  bool refuses() const;
  // Refuses calls from now on, waits for those under way, and closes the object. Blocks as long as
  // that takes; once it has returned, the object is closed, whoever closed it.
  void End();

 private:
  const char* const kind_;
  void (*const close_)(void*);
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  void* object_;  // nullptr: closed
  int calls_ = 0;
  bool refuses_ = false;
  bool ended_ = false;  // somebody closes it, or has
};

// The handles that are open in one thread of JavaScript (the main one, or a worker).
// Thread safety: all methods may be called from any thread.
class OpenHandles {
 public:
  // After EndAll: ends it.
  void Add(std::shared_ptr<Handle> handle);
  void Remove(const std::shared_ptr<Handle>& handle);
  // Ends all at once, each on a thread of its own: one store that is gone must not delay another.
  void EndAll();

 private:
  std::mutex mutex_;
  std::set<std::shared_ptr<Handle>> handles_;
  bool ended_ = false;
};

}  // namespace locus_node

#endif  // LOCUS_BINDINGS_NODE_HANDLE_H_
