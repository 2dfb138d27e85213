#include "tools/demo/shop.hpp"

#include <cerrno>
#include <new>
#include <sys/mman.h>
#include <system_error>

namespace redlock::demo {

namespace {

constexpr std::array<char const*, 20> names{"hair-dryer", "kettle", "toaster", "iron",  "blender", "mixer", "fan",
                                            "heater",     "lamp",   "radio",   "clock", "scales",  "grill", "juicer",
                                            "shaver",     "vacuum", "freezer", "oven",  "stove",   "fridge"};

std::int64_t sum(shop const& s, shop::number shop::item::*what)
{
    std::int64_t all = 0;
    for (auto const& item : s.items)
        all += item.*what;
    return all;
}

}  // namespace

shop::shop(std::int64_t delivery, std::size_t different)
    : first_delivery(delivery * static_cast<std::int64_t>(different)), kinds(different)
{
    for (std::size_t i = 0; i < kinds; ++i) {
        items.at(i).name = names[i];
        items[i].stock = items[i].delivered = delivery;
    }
}

std::int64_t shop::stock() const { return sum(*this, &item::stock); }

std::int64_t shop::delivered() const { return sum(*this, &item::delivered); }

std::int64_t shop::sold() const { return sum(*this, &item::sold); }

std::string lock_name(shop::item const& i) { return std::string("stock:") + i.name; }

void shop_deleter::operator()(shop* s) const noexcept { ::munmap(s, sizeof(shop)); }

shop_pointer build_shop(std::int64_t first_delivery, std::size_t kinds)
{
    void* const place = ::mmap(nullptr, sizeof(shop), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (place == MAP_FAILED)
        throw std::system_error(errno, std::generic_category(), "no memory to share between processes");
    return shop_pointer(new (place) shop(first_delivery, kinds));
}

}  // namespace redlock::demo
