// Signals and slots without a heap: objects connect their members, and disconnect when they go.

#include "board/lib.h"

namespace {

class Slot {
public:
    typedef void Call(void *object, int value);
    void bind(void *object, Call *call) { object_ = object; call_ = call; }
    void clear() { call_ = nullptr; }   /* CULPRIT */
    void operator()(int value) const { call_(object_, value); }         /* FAULTS */
    bool empty() const { return object_ == nullptr; }

private:
    void *object_ = nullptr;
    Call *call_ = nullptr;
};

template <unsigned Most> class Signal {
public:
    unsigned connect(void *object, Slot::Call *call)
    {
        for (unsigned i = 0; i < Most; ++i)
            if (slots_[i].empty()) {
                slots_[i].bind(object, call);
                return i;
            }
        return Most;
    }

    NOINLINE void disconnect(unsigned number)
    {
        if (number < Most)
            slots_[number].clear();     /* CULPRIT */
    }

    NOINLINE void operator()(int value) const
    {
        for (const Slot &slot : slots_)
            if (!slot.empty())
                slot(value);            /* FAULTS */
    }

private:
    Slot slots_[Most];
};

Signal<6> temperature, humidity;

class Mean {
public:
    NOINLINE void take(int value)
    {
        sum_ += value;
        ++count_;
    }
    int value() const { return count_ ? sum_ / count_ : 0; }
    static void call(void *object, int value) { static_cast<Mean *>(object)->take(value); }

private:
    int sum_ = 0, count_ = 0;
};

class Alarm {
public:
    explicit Alarm(int limit) : limit_(limit) { number_ = temperature.connect(this, call); }
    ~Alarm() { temperature.disconnect(number_); }

    bool rings() const { return rings_; }

private:
    static void call(void *object, int value)
    {
        Alarm *alarm = static_cast<Alarm *>(object);
        alarm->rings_ = alarm->rings_ || value > alarm->limit_;
    }

    int limit_;
    unsigned number_;
    bool rings_ = false;
};

Mean mean, other;

NOINLINE void hour(unsigned number)
{
    for (unsigned minute = 0; minute < 60; ++minute) {
        if (minute % 5 == 0)
            humidity(static_cast<int>(minute * 7 % 40) + 30);
        if (minute % 8 == 0)
            temperature(static_cast<int>((number * 60 + minute) % 50) - 10);
    }
}

NOINLINE void guarded_hour(unsigned number)
{
    Alarm alarm(35);

    hour(number);
    if (alarm.rings())
        put_text("hot");
}

}  // namespace

int main()
{
    temperature.connect(&mean, Mean::call);
    humidity.connect(&other, Mean::call);
    humidity.connect(&mean, Mean::call);
    for (unsigned number = 0; number < 10; ++number)
        if (number == 4)
            guarded_hour(number);
        else
            hour(number);
    return mean.value();
}
