#include "net/url.hpp"

#include <boost/test/unit_test.hpp>

using namespace redlock::net;

BOOST_AUTO_TEST_SUITE(urls)

BOOST_AUTO_TEST_CASE(parse_url_of_a_host_fills_in_defaults)
{
    auto const u = redlock::net::parse_url("redis://cache.example");
    BOOST_TEST(u.wrong == "");
    BOOST_TEST(u.host == "cache.example");
    BOOST_TEST(u.port == "6379");
    BOOST_TEST(u.user == "");
    BOOST_TEST(u.password == "");
    BOOST_TEST(u.database == 0);
    BOOST_TEST((u.transport == redlock::net::transport::tcp));
    BOOST_TEST(redlock::net::parse_url("10.0.0.1:7000").name() == "redis://10.0.0.1:7000");
    BOOST_TEST(redlock::net::parse_url("Cache").name() == "redis://cache:6379");
}

BOOST_AUTO_TEST_CASE(parse_url_reads_all_parts)
{
    auto const u = redlock::net::parse_url("rediss://us%40er:p%3Ass@[::1]:7000/3");
    BOOST_TEST(u.wrong == "");
    BOOST_TEST((u.transport == redlock::net::transport::tls));
    BOOST_TEST(u.host == "::1");
    BOOST_TEST(u.port == "7000");
    BOOST_TEST(u.user == "us@er");
    BOOST_TEST(u.password == "p:ss");
    BOOST_TEST(u.database == 3);
    BOOST_TEST(u.name() == "rediss://[::1]:7000");
    BOOST_TEST((redlock::net::parse_url("valkeys://h").transport == redlock::net::transport::tls));
    BOOST_TEST((redlock::net::parse_url("valkey://h").transport == redlock::net::transport::tcp));
    BOOST_TEST(redlock::net::parse_url("redis://:secret@h").password == "secret");
    BOOST_TEST(redlock::net::parse_url("redis://h/").wrong == "");
}

BOOST_AUTO_TEST_CASE(parse_url_of_unix_sockets_and_memory_servers)
{
    auto const u = redlock::net::parse_url("unix:///run/redis.sock?db=2");
    BOOST_TEST((u.transport == redlock::net::transport::unix_socket));
    BOOST_TEST(u.path == "/run/redis.sock");
    BOOST_TEST(u.database == 2);
    BOOST_TEST(u.name() == "unix:///run/redis.sock");
    BOOST_TEST(redlock::net::parse_url("memory://a").name() == "memory://a");
}

BOOST_AUTO_TEST_CASE(parse_url_of_a_unix_socket_reads_user_and_password)
{
    auto const u = redlock::net::parse_url("unix://us%40er:p%2Fss@/run/a@b.sock?db=2");
    BOOST_TEST(u.wrong == "");
    BOOST_TEST((u.transport == redlock::net::transport::unix_socket));
    BOOST_TEST(u.user == "us@er");
    BOOST_TEST(u.password == "p/ss");
    BOOST_TEST(u.path == "/run/a@b.sock");
    BOOST_TEST(u.database == 2);
    BOOST_TEST(u.name() == "unix:///run/a@b.sock");
    BOOST_TEST(redlock::net::parse_url("unix://:pw@/s").password == "pw");
    BOOST_TEST(redlock::net::parse_url("unix:///a@/s").path == "/a@/s");
    // "ss" could be a part of the password.
    BOOST_TEST(redlock::net::parse_url("unix://u:pa@/ss@/s").wrong.find("%40") != std::string::npos);
    BOOST_TEST(redlock::net::parse_url("unix://user@/s").wrong.find("password") != std::string::npos);
    BOOST_TEST(redlock::net::parse_url("unix://user:@/s").user == "user");
}

BOOST_AUTO_TEST_CASE(parse_url_of_sentinels_reads_addresses_and_master_name)
{
    auto const u = redlock::net::parse_url(
        "redis-sentinel://us%40er:p%3Ass@S1,[::1]:7000,10.0.0.3/stock?db=2&sentinel_user=w&sentinel_password=s%26t");
    BOOST_TEST(u.wrong == "");
    BOOST_TEST((u.topology == redlock::net::topology::sentinel));
    BOOST_TEST((u.asked == std::vector<redlock::net::place>{{"s1", "26379"}, {"::1", "7000"}, {"10.0.0.3", "26379"}}));
    BOOST_TEST(u.service == "stock");
    BOOST_TEST(u.user == "us@er");
    BOOST_TEST(u.password == "p:ss");
    BOOST_TEST(u.database == 2);
    BOOST_TEST(u.sentinel_user == "w");
    BOOST_TEST(u.sentinel_password == "s&t");
    BOOST_TEST(u.name() == "redis-sentinel://s1:26379,[::1]:7000,10.0.0.3:26379/stock");
    BOOST_TEST(u.of({"h", "7"}).name() == "redis://h:7");
    BOOST_TEST(redlock::net::parse_url("valkey-sentinel://h/m").name() == "redis-sentinel://h:26379/m");
    BOOST_TEST(redlock::net::parse_url("rediss-sentinel://h/m").name() == "rediss-sentinel://h:26379/m");
    BOOST_TEST((redlock::net::parse_url("valkeys-sentinel://h/m").transport == redlock::net::transport::tls));

    auto const says = [](std::string_view text, std::string_view words) {
        return redlock::net::parse_url(text).wrong.find(words) != std::string::npos;
    };
    for (auto const* text :
         {"redis-sentinel://h", "redis-sentinel://h/", "redis-sentinel://h/a b", "redis-sentinel://h/?db=1"})
        BOOST_TEST(says(text, "the name of the master must follow"));
    BOOST_TEST(says("redis-sentinel:///m", "host"));
    BOOST_TEST(says("redis-sentinel://a,,b/m", "host"));
    BOOST_TEST(says("redis-sentinel://a:0/m", "port"));
    BOOST_TEST(says("redis-sentinel://a/m?db=x", "database"));
    BOOST_TEST(says("redis-sentinel://a/m?timeout=3", "db, map, sentinel_tls, sentinel_user or sentinel_password"));
    BOOST_TEST(says("redis-sentinel://a/m?sentinel_password=%4", "hexadecimal"));
    BOOST_TEST(says("redis-sentinel://a/m?sentinel_tls=yes", "on or off"));
    for (auto const* const map : {"", "a:1", "a:1=", "=b:1", "a:0=b:1", "a:1=b:1,", "a:1=b c:1"})
        BOOST_TEST(says(std::string("redis-cluster://a?map=") + map, "map"));
    BOOST_TEST(says("redis-cluster://a?db=1", "map"));
    auto const encrypted = redlock::net::parse_url("redis-sentinel://a/m?sentinel_tls=on&sentinel_user=u");
    BOOST_TEST((encrypted.transport == redlock::net::transport::tcp));
    BOOST_TEST((encrypted.sentinel_transport == redlock::net::transport::tls));
}

BOOST_AUTO_TEST_CASE(parse_url_of_a_cluster_reads_the_members)
{
    auto const u = redlock::net::parse_url("redis-cluster://us%40er:pw@H1,[::1]:7000");
    BOOST_TEST(u.wrong == "");
    BOOST_TEST((u.topology == redlock::net::topology::cluster));
    BOOST_TEST((u.asked == std::vector<redlock::net::place>{{"h1", "6379"}, {"::1", "7000"}}));
    BOOST_TEST(u.user == "us@er");
    BOOST_TEST(u.name() == "redis-cluster://h1:6379,[::1]:7000");
    BOOST_TEST(redlock::net::parse_url("valkeys-cluster://h").name() == "rediss-cluster://h:6379");
    for (auto const* text : {"redis-cluster://h/1", "redis-cluster://h/1?map=a:1=b:1", "redis-cluster://h,g#x"})
        BOOST_TEST(redlock::net::parse_url(text).wrong.find("it must name only members of the cluster")
                   != std::string::npos);
    BOOST_TEST(redlock::net::parse_url("redis-cluster://").wrong.find("host") != std::string::npos);
    BOOST_TEST(redlock::net::parse_url("redis-cluster://u:hunter2@h,g/1").wrong.find("hunter2") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(parse_url_of_a_broken_url_gives_the_reason)
{
    auto const wrong = [](std::string_view text) { return redlock::net::parse_url(text).wrong; };
    BOOST_TEST(wrong("http://h").find("scheme") != std::string::npos);
    BOOST_TEST(wrong("redis://").find("host") != std::string::npos);
    BOOST_TEST(wrong("").find("host") != std::string::npos);
    BOOST_TEST(wrong("redis://h:0").find("port") != std::string::npos);
    BOOST_TEST(wrong("redis://h:65536").find("port") != std::string::npos);
    BOOST_TEST(wrong("redis://h:").find("port") != std::string::npos);
    BOOST_TEST(wrong("redis://h:12x").find("port") != std::string::npos);
    BOOST_TEST(wrong("redis://h/x").find("database") != std::string::npos);
    for (auto const* text :
         {"redis://h?timeout=3", "redis://h:6379?db=2", "rediss://h/1?verify=no", "h?x", "redis://h#2"})
        BOOST_TEST(wrong(text).find("manager_options::connect_timeout") != std::string::npos);
    BOOST_TEST(wrong("redis://h/-1").find("database") != std::string::npos);
    BOOST_TEST(wrong("redis://[::1").find("']'") != std::string::npos);
    BOOST_TEST(wrong("redis://[::1]x").find("port") != std::string::npos);
    BOOST_TEST(wrong("redis://a b").find("host") != std::string::npos);
    for (auto const* text :
         {"redis://h%41", "redis://[nonsense]", "redis://[127.0.0.1]", "redis://h;x", "redis://hôte"})
        BOOST_TEST(wrong(text).find("neither a name nor an address") != std::string::npos);
    for (auto const* text :
         {"redis://a,b", "redis://a,redis://b/1", "a,b", "redis://:p@a,redis://:p@b", "redis://:p@a,b"})
        BOOST_TEST(wrong(text).find("it names several servers") != std::string::npos, wrong(text));
    BOOST_TEST(redlock::net::parse_url("redis://:p,q@a").password == "p,q");
    for (auto const* text : {"redis:/h", "REDISS:/h/1"})
        BOOST_TEST(wrong(text).find("two slashes must follow the scheme") != std::string::npos, wrong(text));
    BOOST_TEST(redlock::net::parse_url("redis:7000").host == "redis");
    BOOST_TEST(redlock::net::parse_url("REDIS://H:7000").name() == "redis://h:7000");
    BOOST_TEST(redlock::net::parse_url("Rediss-Cluster://h").name() == "rediss-cluster://h:6379");
    BOOST_TEST(wrong("redis://h:99999").find("h:99999") != std::string::npos);
    BOOST_TEST(wrong("redis://user@h").find("password") != std::string::npos);
    BOOST_TEST(redlock::net::parse_url("redis://user:@h").password.empty());
    BOOST_TEST(wrong("redis://u:%4@h").find("hexadecimal") != std::string::npos);
    BOOST_TEST(wrong("unix://relative").find("absolute") != std::string::npos);
    BOOST_TEST(wrong("unix:///s?x=1").find("unix://user:password@/path") != std::string::npos);
    BOOST_TEST(wrong("unix:///s?db=x").find("database") != std::string::npos);
    BOOST_TEST(wrong("memory://").find("name") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(parse_url_shows_an_address_without_secrets_whole)
{
    for (std::string const text :
         {"redis://10.0.0.1:6379,redis://10.0.0.2:6379", "redis:/host", "redis:/host:6379/1", "redis://h:1/-1",
          "redis://h/70000", "redis://[::1]:7/99999", "a,b:1,[::1]", "bad://h:1", "redis://h:99999"})
        BOOST_TEST(redlock::net::parse_url(text).wrong.find('"' + text + '"') != std::string::npos,
                   redlock::net::parse_url(text).wrong);
}

// Rule 14 of docs/architecture.md.
BOOST_AUTO_TEST_CASE(parse_url_shows_no_password_in_a_message_or_name)
{
    for (auto const* text : {"redis://user:hunter2@h:99999",
                             "redis://:hunter2@h/x",
                             "bad://u:hunter2@h",
                             "redis://u:hunter2%zz@h",
                             "redis://u:hunter2@x@h:0",
                             "u:hunter2@h:0",
                             "redis://user:hunter2",
                             "redis://:hunter2",
                             "user:hunter2",
                             "redis://h?password=hunter2",
                             "redis://h:70000#hunter2",
                             "rediss://u:hunter2/0",
                             "unix:///s?password=hunter2",
                             "unix:///s?db=1&password=hunter2",
                             "unix:///s?db=hunter2",
                             "unix://u:hunter2@s",
                             "unix://u:hunter2@/s?x",
                             "unix://u:hunter2/s",
                             "unix://:hunter2",
                             "unix://u:hunter2%zz@/s",
                             "unix:///s?username=u&password=hunter2@x",
                             "unix:///s#hunter2?db=x",
                             "cache.example.com,password=hunter2,ssl=true",
                             "redis://host/0&password=hunter2",
                             "host password=hunter2",
                             "redis://host/hunter2",
                             "host/hunter2",
                             "redis://host;hunter2",
                             "redis-sentinel://u:hunter2@a,b/m?x=1",
                             "redis-sentinel://a/m?sentinel_password=hunter2&x=1",
                             "redis-sentinel://a:1,b:2/m?sentinel_password=hunter2%",
                             "redis-sentinel://u:hunter2/m",
                             "redis-sentinel://a/m?password=hunter2"}) {
        auto const u = redlock::net::parse_url(text);
        BOOST_TEST(u.wrong != "");
        BOOST_TEST(u.wrong.find("hunter2") == std::string::npos);
    }
    BOOST_TEST(redlock::net::parse_url("redis://user:hunter2@h").name().find("hunter2") == std::string::npos);
    BOOST_TEST(redlock::net::parse_url("redis://user:hunter2@h").name().find("user") == std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
