#include "demo/shop.hpp"

#include <cerrno>
#include <new>
#include <sys/mman.h>
#include <system_error>

namespace redlock::demo {

void shop_demolition::operator()(shop* s) const noexcept
{
    ::munmap(s, sizeof(shop));
}

shop_pointer build_shop(std::int64_t first_delivery)
{
    void* const place = ::mmap(nullptr, sizeof(shop), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (place == MAP_FAILED)
        throw std::system_error(errno, std::generic_category(), "no memory to share between processes");
    return shop_pointer(new (place) shop(first_delivery));
}

}  // namespace redlock::demo
