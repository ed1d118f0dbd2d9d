// A registry of devices with libstdc++: maps, strings, functions, virtual classes, a regular expression, exceptions.

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <regex>
#include <stdexcept>
#include <string>
#include <vector>

extern "C" {
#include "../../recovery/inputs.h"
}

#include "system.h"

namespace {

constexpr uint32_t duration = 180000;

class Device {
public:
    explicit Device(std::string name) : name_(std::move(name)) {}
    virtual ~Device() = default;
    virtual int read() = 0;
    virtual void set(const std::string &key, int value) { settings_[key] = value; }
    const std::string &name() const { return name_; }
    int setting(const std::string &key) const { return settings_.at(key); }

private:
    std::string name_;
    std::map<std::string, int> settings_;
};

class Sensor : public Device {
public:
    Sensor(std::string name, unsigned channel) : Device(std::move(name)), channel_(channel) { set("gain", 1); }

    int read() override
    {
        int level = static_cast<int>(SAMPLE(channel_) & 0xFFF) * setting("gain");
        if (level > 4000)
            throw std::range_error(name() + " is too high");
        history_.push_back(level);
        return level;
    }

    const std::vector<int> &history() const { return history_; }

private:
    unsigned channel_;
    std::vector<int> history_;
};

class Contact final : public Device {
public:
    Contact(std::string name, unsigned bit) : Device(std::move(name)), bit_(bit) {}
    int read() override { return SWITCHES >> bit_ & 1; }

    void set(const std::string &key, int value) override
    {
        if (key == "gain")
            throw std::invalid_argument(key);
        Device::set(key, value);
    }

private:
    unsigned bit_;
};

class Registry {
public:
    using Listener = std::function<void(const Device &, int)>;

    void add(std::unique_ptr<Device> device)
    {
        std::string name = device->name();
        if (!devices_.emplace(name, std::move(device)).second)
            throw std::logic_error("twice: " + name);
    }

    void listen(Listener listener) { listeners_.push_back(std::move(listener)); }

    void obey(const std::string &line)
    {
        static const std::regex form("(temp.|door.)\\.(.+) *= *(.+)");
        std::smatch found;
        if (!std::regex_match(line, found, form))
            throw std::invalid_argument(line);
        devices_.at(found[1])->set(found[2], std::stoi(found[3]));
    }

    void poll()
    {
        for (auto &[name, device] : devices_) {
            int value = device->read();
            for (auto &listener : listeners_)
                listener(*device, value);
        }
    }

private:
    std::map<std::string, std::unique_ptr<Device>> devices_;
    std::vector<Listener> listeners_;
};

struct Totals {
    std::map<std::string, std::vector<int>> values;
    unsigned errors = 0;

    int median(const std::string &name)
    {
        std::vector<int> copy = values.at(name);
        std::sort(copy.begin(), copy.end(), [](int left, int right) { return left > right; });
        return copy[copy.size() / 2];
    }
};

template <typename Work> void attempt(Totals &totals, Work work)
{
    try {
        work();
    } catch (const std::logic_error &) {
        ++totals.errors;
    } catch (const std::exception &error) {
        totals.errors += error.what()[0] != 0;
    }
}

}  // namespace

unsigned program(void)
{
    static const std::array<const char *, 5> lines = {
        "temp0.gain = 1", "temp1.gain=2", "door0.gain = 3", "nobody9.x = 4", "temp0 gain 5",
    };
    Registry registry;
    Totals totals;

    registry.add(std::make_unique<Sensor>("temp0", 0));
    registry.add(std::make_unique<Sensor>("temp1", 1));
    registry.add(std::make_unique<Contact>("door0", 2));
    registry.listen([&totals](const Device &device, int value) { totals.values[device.name()].push_back(value); });
    attempt(totals, [&] { registry.add(std::make_unique<Contact>("door0", 3)); });
    for (unsigned round = 0; system_time() < duration; ++round) {
        attempt(totals, [&] { registry.obey(lines[round % lines.size()]); });
        attempt(totals, [&] { registry.poll(); });
    }
    return totals.errors > 2 && totals.median("temp0") > 0 && totals.values.count("door0") == 1 ? 0 : 2;
}
