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
    const source = /* the worker's source */ "";
    return { index, worker: URL.createObjectURL(new Blob([source], { type: "text/javascript" })) };
})();
