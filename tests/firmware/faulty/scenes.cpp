// Scenes of a light show: a scene is a set of effects; the player goes from one to the next.

#include "board/chip.h"
#include "board/new.h"

namespace {

class Effect {
public:
    virtual ~Effect() = default;
    virtual unsigned level(unsigned time) = 0;
};

class Ramp : public Effect {
public:
    Ramp(unsigned from, unsigned step) : from_(from), step_(step) {}
    unsigned level(unsigned time) override { return (from_ + step_ * time) & 0xFF; }

private:
    unsigned from_, step_;
};

class Flash : public Effect {
public:
    explicit Flash(unsigned period) : period_(period) {}
    unsigned level(unsigned time) override { return time % period_ == 0 ? 255 : count_++ & 7; }

private:
    unsigned period_, count_ = 0;
};

class Scene {
public:
    ~Scene()
    {
        for (unsigned i = 0; i < count_; ++i)
            delete effects_[i];
    }

    void add(Effect *effect) { effects_[count_++] = effect; }
    Effect *effect(unsigned number) const { return effects_[number % count_]; }
    unsigned count() const { return count_; }

private:
    Effect *effects_[4] = {};
    unsigned count_ = 0;
};

struct Cue {
    unsigned time, colour, fade;
};

class Player {
public:
    NOINLINE void play(Scene *scene)
    {
        delete scene_;                  /* CULPRIT */
        scene_ = scene;
        if (held_ == nullptr)
            held_ = scene->effect(1);
    }

    void hold(bool on) { held_ = on ? scene_->effect(1) : nullptr; }

    NOINLINE unsigned step(unsigned time)
    {
        unsigned sum = 0;
        for (unsigned i = 0; i < scene_->count(); ++i)
            sum += scene_->effect(i)->level(time);
        if (held_ != nullptr)
            sum += held_->level(time);  /* FAULTS */
        return sum;
    }

private:
    Scene *scene_ = nullptr;
    Effect *held_ = nullptr;
};

NOINLINE Scene *compose(unsigned number)
{
    Scene *scene = new Scene;

    for (unsigned i = 0; i < 2 + number % 2; ++i)
        if ((number + i) % 2)
            scene->add(new Flash(3 + number));
        else
            scene->add(new Ramp(number * 9, i + 1));
    return scene;
}

NOINLINE Cue *cue(unsigned number)
{
    return new Cue{ number * 0x11110101u | 0x80000000u, number, 40 };
}

Player player;
unsigned light;

}  // namespace

int main()
{
    Cue *cues[8] = {};

    for (unsigned number = 0; number < 12; ++number) {
        player.play(compose(number));
        player.hold(number % 3 != 1);
        for (unsigned time = 0; time < 20; ++time)
            light += player.step(time);
        if (number == 3) {
            player.hold(true);
            player.play(compose(5));
            for (Cue *&each : cues)
                each = cue(++number);
        }
        for (unsigned time = 0; time < 10; ++time)
            light += player.step(time);
    }
    return 0;
}
