// Drivers register themselves before main, each in a list by kind; main starts them and polls.

#include "board/lib.h"

namespace {

class Driver {
public:
    explicit Driver(Driver **list) : next_(*list) { *list = this; }
    virtual bool start() = 0;
    virtual unsigned poll(unsigned time) = 0;
    Driver *next() const { return next_; }

private:
    Driver *next_;
};

Driver *drivers;

class Heater : public Driver {
public:
    Heater(Driver **list, unsigned power) : Driver(list), power_(power) {}
    bool start() override { return power_ > 0; }
    unsigned poll(unsigned time) override { return time * power_ % 97; }

private:
    unsigned power_;
};

class Fan : public Driver {
public:
    Fan(Driver **list, unsigned blades) : Driver(list), blades_(blades) {}
    bool start() override { return true; }

    NOINLINE unsigned poll(unsigned time) override
    {
        if (time % 16 == 15)
            speed_ = (speed_ + 1) % 5;
        return speed_ * blades_;
    }

private:
    unsigned blades_, speed_ = 1;
};

class Pump : public Driver {
public:
    Pump(Driver **list, unsigned strokes) : Driver(list), strokes_(strokes) {}
    bool start() override { return true; }
    unsigned poll(unsigned time) override { return strokes_ + time % 3; }
    NOINLINE void set_curve(const unsigned *curve, unsigned count)
    {
        for (unsigned i = 0; i < count; ++i)
            curve_[i] = curve[i];       /* CULPRIT */
    }

private:
    unsigned strokes_;
    unsigned curve_[4] = {};
};

struct Devices {
    Heater heater{&drivers, 40};
    Pump pump{&drivers, 7};
    Fan fan{&drivers, 6};
    Heater second{&drivers, 25};
} devices;

unsigned load;

NOINLINE void poll_all(unsigned time)
{
    for (Driver *driver = drivers; driver != nullptr; driver = driver->next())
        load += driver->poll(time);     /* FAULTS */
}

}  // namespace

int main()
{
    static const unsigned curve[] = { 5, 9, 14, 20, 27, 35 };

    for (Driver *driver = drivers; driver != nullptr; driver = driver->next())
        if (!driver->start())
            put_text("?");
    for (unsigned time = 0; time < 400; ++time) {
        if (time < 60 || time % 2)
            poll_all(time);
        if (time % 30 == 29)
            devices.pump.set_curve(curve, time < 60 ? 3 : 6);
        put_number(load);
    }
    return 0;
}
