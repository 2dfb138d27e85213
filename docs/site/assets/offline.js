// Search without a server. A page that is read from a file may neither fetch the index nor start a worker by its
// address. So the index is a script, which is loaded when the reader turns to the search, and the worker is made from
// its source.
var __search = (() => {
    const address = new URL("index.js", document.currentScript.src);
    const index = new Promise((resolve) => {
        window.redlock_search_index = resolve;  // the script calls it
        const load = () => document.head.append(Object.assign(document.createElement("script"), { src: address }));
        if (new URLSearchParams(location.search).has("q"))
            load();
        else
            document.addEventListener("focusin", function begin(event) {
                if (!event.target.matches(".md-search__input")) return;
                document.removeEventListener("focusin", begin);
                load();
            });
    });

    // Words that are on every page of this site, or in every question, say nothing. A word counts more than the
    // beginning of a longer one, so "node" is sooner found than "node_limits". The search itself looks for all that
    // begins like the last word.
    const idle = new Set(("lock locks locking redlock a an and another be by can do does for from get how i in is it " +
        "me my node nodes of on or run the that to was what when where which while who why with").split(" "));
    // What readers ask for in words that these pages do not use.
    const said = new Map(Object.entries({
        backends: "stores", cancel: "cancellation", crash: "restart", down: "down fails",
        error: "errors", exception: "lock_error", expired: "lost", expires: "lost", gc: "paused", getting: "",
        handling: "", logging: "logs", lost: "lost loss",
        mutex: "mutex exclusive", persistence: "durable", recursive: "entrant",
        reentrant: "entrant", renew: "renewal", started: "tutorial", timeout: "timeouts",
        unlock: "release async_release", watchdog: "renewal",
    }));
    const transform = (query) => {
        const words = query.toLowerCase().split(/[\s\-.,:;()<>`"/{}=&+*~^]+/).filter(Boolean);
        const telling = words.filter((word) => !idle.has(word))
            .flatMap((word) => (said.get(word) ?? word).split(" ")).filter(Boolean);
        const asked = telling.length ? telling : words;
        return [...Array(20).fill(asked).flat(), asked.at(-1)].join(" ");
    };
    const source = /* the worker's source */ "";
    return { index, transform, worker: URL.createObjectURL(new Blob([source], { type: "text/javascript" })) };
})();
