#pragma once

namespace redlock::cli {

/// What a supervisor needs of a command: @ref child, or what a test puts in its place.
class supervised {
public:
    /// To all of it.
    virtual void signal(int) noexcept = 0;

    /// The same with a signal that we got; unless it was the terminal's, which has sent it to all of the group that we
    /// share.
    virtual void hand_on(int) noexcept = 0;

    /// Takes note of what has ended or was stopped. After each SIGCHLD.
    virtual void check_children() noexcept = 0;

    virtual bool has_ended() const noexcept = 0;
    virtual bool was_stopped() noexcept = 0;  ///< by its terminal, since it was asked last

    /// Whether neither it nor anybody in its group is there any more.
    virtual bool is_gone() noexcept = 0;

    /// Stops us, too, as Ctrl-Z has stopped it; returns when we go on. At once if there is no shell that could make us
    /// go on.
    virtual void stop_with_it() noexcept = 0;

    /// It goes on; in the foreground if we are.
    virtual void go_on() noexcept = 0;

protected:
    ~supervised() = default;
};

}  // namespace redlock::cli
