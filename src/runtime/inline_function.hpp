#pragma once

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

namespace redlock::inline v1::runtime {

template <class Signature, std::size_t Size = 32>
class inline_function;

/// A function object of at most @p Size bytes. It is called at most once, and is stored in this object, never on the
/// heap.
template <class... Args, std::size_t Size>
class inline_function<void(Args...), Size> {
public:
    inline_function() = default;
    inline_function(inline_function const&) = delete;
    inline_function& operator=(inline_function const&) = delete;
    ~inline_function() { reset(); }

    template <class F>
        requires std::is_rvalue_reference_v<F&&>
    inline_function& operator=(F&& f)
    {
        static_assert(sizeof(F) <= sizeof storage_ && alignof(F) <= alignof(void*));
        reset();
        ::new (static_cast<void*>(storage_)) F(std::forward<F>(f));
        run_ = [](void* storage, bool call, Args... args) {
            auto& stored = *std::launder(static_cast<F*>(storage));
            auto taken = std::move(stored);  // the call may destroy this object
            stored.~F();                     // NOLINT(bugprone-use-after-move): it still has to be destroyed
            if (call)
                std::move(taken)(args...);
        };
        return *this;
    }

    explicit operator bool() const noexcept { return run_ != nullptr; }

    /// Empties the object, then calls the function.
    void operator()(Args... args) && { std::exchange(run_, nullptr)(storage_, true, args...); }

    /// Destroys the function without calling it.
    void reset()
    {
        if (run_)
            std::exchange(run_, nullptr)(storage_, false, Args{}...);
    }

private:
    alignas(void*) std::byte storage_[Size];
    void (*run_)(void* storage, bool call, Args...) = nullptr;
};

}  // namespace redlock::runtime
