// An agenda: tasks in a map by their time; the next one to be called is remembered.

#include <map>
#include <string>

#include "board/chip.h"

namespace {

class Task {
public:
    virtual ~Task() = default;
    virtual unsigned run(unsigned time) = 0;
};

class Count : public Task {
public:
    unsigned run(unsigned time) override { return count_ += time; }

private:
    unsigned count_ = 0;
};

class Say : public Task {
public:
    explicit Say(unsigned number) : text_(18 + number % 4, char('a' + number % 26)) {}
    unsigned run(unsigned time) override { return unsigned(text_.size()) + time; }

private:
    std::string text_;
};

class Agenda {
public:
    NOINLINE void add(unsigned time, Task *task)
    {
        tasks_[time] = task;
        if (next_ == nullptr)
            next_ = task;
    }

    NOINLINE void cancel(unsigned time)
    {
        auto found = tasks_.find(time);
        if (found == tasks_.end())
            return;
        delete found->second;               /* CULPRIT */
        tasks_.erase(found);
    }

    NOINLINE unsigned step(unsigned time)
    {
        unsigned result = next_ != nullptr ? next_->run(time) : 0;
        auto after = tasks_.upper_bound(time);
        next_ = after != tasks_.end() ? after->second : nullptr;
        return result;
    }

private:
    std::map<unsigned, Task *> tasks_;
    Task *next_ = nullptr;
};

Agenda agenda;
unsigned results;
std::string *notes[4];

NOINLINE void note(unsigned time)
{
    std::string *&place = notes[time % 4];

    delete place;
    place = new std::string("note of the day ");
    *place += char('0' + time % 10);
}

}  // namespace

int main()
{
    for (unsigned i = 0; i < 24; ++i)
        agenda.add(i * 3, i % 2 ? static_cast<Task *>(new Say(i)) : new Count);
    for (unsigned time = 0; time < 60; ++time) {
        results += agenda.step(time);
        note(time);
        if (time % 10 == 4)
            agenda.cancel(time + 1 + time % 3);
        if (time == 32)
            agenda.cancel(33);
        note(time + 1);
    }
    return 0;
}
