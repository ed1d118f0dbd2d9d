// Widgets of a panel: each draws itself; a gauge keeps the newest values for its curve.

#include "board/lib.h"

namespace {

class Widget {
public:
    explicit Widget(int row) : row_(row) {}
    virtual void update(int value) = 0;
    virtual unsigned draw() const { return static_cast<unsigned>(row_); }

protected:
    int row_;
};

class Gauge : public Widget {
public:
    Gauge(int row, int limit) : Widget(row), limit_(limit) {}

    NOINLINE void update(int value) override
    {
        curve_[next_] = value > limit_ ? limit_ : value;        /* CULPRIT */
        next_ = (next_ + 1) % width_;
        if (value > limit_)
            width_ = 12;
    }

    NOINLINE unsigned draw() const override
    {
        unsigned dots = 0;
        for (int i = 0; i < 10; ++i)
            dots += static_cast<unsigned>(curve_[i]) * 5 / static_cast<unsigned>(limit_);
        return dots;
    }

private:
    int limit_, next_ = 0, width_ = 10;
    int curve_[10] = {};
};

class Lamp : public Widget {
public:
    Lamp(int row, int threshold) : Widget(row), threshold_(threshold) {}
    void update(int value) override { on_ = value > threshold_; }
    unsigned draw() const override { return on_ ? 1 : 0; }

private:
    int threshold_;
    bool on_ = false;
};

struct Panel {
    Gauge pressure{1, 700};
    Lamp high{2, 600};
    Gauge flow{3, 900};
    Lamp low{4, 100};
    Widget *all[4] = { &pressure, &high, &flow, &low };
};

Panel panel;

NOINLINE int measure(unsigned second, unsigned widget)
{
    return static_cast<int>((second * 53 + widget * 71) % 500 + second * 2 + 50);
}

NOINLINE void refresh(unsigned second)
{
    unsigned dots = 0;

    for (unsigned i = 0; i < COUNT(panel.all); ++i)
        panel.all[i]->update(measure(second, i));       /* FAULTS */
    if (second % 3 == 2)
        for (Widget *widget : panel.all)
            dots += widget->draw();     /* FAULTS */
    put_number(dots);
}

}  // namespace

int main()
{
    for (unsigned second = 0; second < 300; ++second)
        refresh(second);
    return 0;
}
