// Runs a script of the library in Lua 5.1, which is the Lua of Redis.
#pragma once

#include "stores/redis/reply.hpp"

#include <lua.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace redlock::test::record {

/// The server behind the script: it executes the commands that the script calls.
class script_server {
public:
    virtual std::string info(std::string_view section) const = 0;
    virtual std::string cluster_nodes() const = 0;
    virtual std::optional<std::string> get(std::string_view key) const = 0;
    virtual std::int64_t pttl(std::string_view key) const = 0;
    /// @param ttl nothing: `KEEPTTL`
    virtual void set(std::string_view key, std::string_view value, std::optional<std::int64_t> ttl) = 0;

protected:
    ~script_server() = default;
};

class script_runner {
public:
    explicit script_runner(std::string const& source) : lua_(luaL_newstate())
    {
        luaL_openlibs(lua_);
        lua_newtable(lua_);
        for (auto const* name : {"call", "pcall"}) {
            lua_pushlightuserdata(lua_, this);
            lua_pushcclosure(lua_, &script_runner::call, 1);
            lua_setfield(lua_, -2, name);
        }
        lua_pushcfunction(lua_, &script_runner::error_reply);
        lua_setfield(lua_, -2, "error_reply");
        lua_setglobal(lua_, "redis");
        if (luaL_loadbuffer(lua_, source.data(), source.size(), "script") != 0)
            throw std::runtime_error(lua_tostring(lua_, -1));
        script_ = luaL_ref(lua_, LUA_REGISTRYINDEX);
    }
    ~script_runner() { lua_close(lua_); }
    script_runner(script_runner const&) = delete;
    script_runner& operator=(script_runner const&) = delete;

    stores::redis::reply run(script_server& on, std::span<std::string_view const> keys,
                             std::span<std::string_view const> arguments)
    {
        server_ = &on;
        ++runs_;
        push_global("KEYS", keys);
        push_global("ARGV", arguments);
        lua_rawgeti(lua_, LUA_REGISTRYINDEX, script_);
        if (lua_pcall(lua_, 0, 1, 0) != 0)
            throw std::runtime_error(lua_tostring(lua_, -1));
        auto r = result();
        lua_settop(lua_, 0);
        return r;
    }

    std::uint64_t runs() const noexcept { return runs_; }

private:
    using type = stores::redis::resp::type;

    void push_global(char const* name, std::span<std::string_view const> all)
    {
        lua_createtable(lua_, static_cast<int>(all.size()), 0);
        for (std::size_t i = 0; i < all.size(); ++i) {
            lua_pushlstring(lua_, all[i].data(), all[i].size());
            lua_rawseti(lua_, -2, static_cast<int>(i + 1));
        }
        lua_setglobal(lua_, name);
    }

    stores::redis::reply result()
    {
        stores::redis::reply r;
        if (!lua_istable(lua_, -1)) {
            r.type = type::null;
            return r;
        }
        lua_getfield(lua_, -1, "err");
        if (lua_isstring(lua_, -1)) {
            r.type = type::simple_error;
            r.text = text(lua_, -1);
            return r;
        }
        lua_pop(lua_, 1);
        r.type = type::array;
        for (int i = 1;; ++i) {
            lua_rawgeti(lua_, -1, i);
            if (lua_isnil(lua_, -1))
                return r;
            r.elements.emplace_back(text(lua_, -1));
            lua_pop(lua_, 1);
        }
    }

    static std::string_view text(lua_State* l, int at)
    {
        std::size_t size = 0;
        auto const* const begin = lua_tolstring(l, at, &size);
        return {begin, size};
    }

    static int call(lua_State* l)
    {
        auto& self = *static_cast<script_runner*>(lua_touserdata(l, lua_upvalueindex(1)));
        auto& server = *self.server_;
        auto const name = text(l, 1);
        if (name == "INFO") {
            auto const all = server.info(text(l, 2));
            lua_pushlstring(l, all.data(), all.size());
        } else if (name == "CLUSTER") {
            auto const all = server.cluster_nodes();
            lua_pushlstring(l, all.data(), all.size());
        } else if (name == "GET") {
            if (auto const value = server.get(text(l, 2)))
                lua_pushlstring(l, value->data(), value->size());
            else
                lua_pushboolean(l, 0);
        } else if (name == "PTTL") {
            lua_pushnumber(l, static_cast<lua_Number>(server.pttl(text(l, 2))));
        } else if (name == "SET") {
            auto const how = text(l, 4);
            std::optional<std::int64_t> ttl;
            if (how == "PX")
                ttl = static_cast<std::int64_t>(lua_tonumber(l, 5));
            else if (how != "KEEPTTL" && lua_gettop(l) > 3)
                return luaL_error(l, "the simulated server does not know this option of SET");
            else if (how != "KEEPTTL")
                ttl = -1;
            server.set(text(l, 2), text(l, 3), ttl);
            lua_newtable(l);
        } else {
            return luaL_error(l, "the simulated server does not know this command");
        }
        return 1;
    }

    static int error_reply(lua_State* l)
    {
        lua_newtable(l);
        lua_pushvalue(l, 1);
        lua_setfield(l, -2, "err");
        return 1;
    }

    lua_State* lua_;
    int script_ = 0;
    script_server* server_ = nullptr;
    std::uint64_t runs_ = 0;
};

}  // namespace redlock::test::record
