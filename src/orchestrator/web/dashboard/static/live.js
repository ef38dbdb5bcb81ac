// Keeps the page fresh: when the server says that something changed, the page is read again and only what differs
// is replaced, so that focus, scroll position, open details and half-typed text stay. Everything works without it.
"use strict";

(() => {
  const main = document.getElementById("main");
  const light = document.getElementById("live");
  const lightText = document.getElementById("live-text");
  const AGO_EVERY = 10000;
  const EVENTS_PAUSE = 50;
  const EVENTS_KEPT = 600;
  const REFRESH_PAUSE = 300;

  // ---- replacing what differs

  const keyOf = (node) => (node.nodeType === 1 ? node.id || node.dataset.key || "" : "");

  const isSame = (one, other) =>
    one.nodeType === other.nodeType && one.nodeName === other.nodeName && keyOf(one) === keyOf(other);

  // What the person set is theirs: whether details are open, and what was typed.
  const isTheirs = (node, name) =>
    name === "open" || (name === "value" && node.nodeName === "INPUT" && node.type !== "hidden");

  function copyAttributes(from, to) {
    for (const { name, value } of [...to.attributes]) {
      if (!isTheirs(from, name) && from.getAttribute(name) !== value) from.setAttribute(name, value);
    }
    for (const { name } of [...from.attributes]) {
      if (!isTheirs(from, name) && !to.hasAttribute(name)) from.removeAttribute(name);
    }
  }

  function arrive(parent, node, before) {
    const copy = document.importNode(node, true);
    if (copy.nodeType === 1 && copy.dataset.key) copy.classList.add("arrived");
    parent.insertBefore(copy, before);
  }

  function copyChildren(from, to) {
    const keyed = new Map();
    for (const child of from.childNodes) if (keyOf(child)) keyed.set(keyOf(child), child);
    let place = from.firstChild;
    for (const wanted of [...to.childNodes]) {
      const key = keyOf(wanted);
      const known = key && keyed.get(key);
      if (known && isSame(known, wanted)) {
        if (known !== place) from.insertBefore(known, place);
        else place = place.nextSibling;
        become(known, wanted);
        keyed.delete(key);
        continue;
      }
      while (place && keyOf(place) && keyed.has(keyOf(place)) && !key) place = place.nextSibling;
      if (place && !key && isSame(place, wanted)) {
        const here = place;
        place = place.nextSibling;
        become(here, wanted);
      } else {
        arrive(from, wanted, place);
      }
    }
    while (place) {
      const next = place.nextSibling;
      place.remove();
      place = next;
    }
  }

  function become(from, to) {
    if (from.nodeType !== 1) {
      if (from.data !== to.data) from.data = to.data;
      return;
    }
    if (from.hasAttribute("data-keep")) return;
    copyAttributes(from, to);
    copyChildren(from, to);
  }

  let refreshing = false;
  let again = false;

  async function refresh() {
    if (refreshing) {
      again = true;
      return;
    }
    refreshing = true;
    try {
      const answer = await fetch(location.pathname + location.search, { headers: { Accept: "text/html" } });
      if (answer.ok) {
        const page = new DOMParser().parseFromString(await answer.text(), "text/html");
        become(main, page.getElementById("main"));
        document.title = page.title;
        readClock();
        watchRuns();
      }
    } catch {
      show("offline");
    } finally {
      refreshing = false;
      if (again) {
        again = false;
        setTimeout(refresh, REFRESH_PAUSE);
      }
    }
  }

  // ---- hearing of changes

  let source = null;
  let missed = false;

  function show(state) {
    light.hidden = false;
    if (light.dataset.state === state) return;
    light.dataset.state = state;
    lightText.textContent = state;
  }

  function listen() {
    source = new EventSource("/api/v1/stream");
    source.addEventListener("hello", () => {
      show("live");
      if (missed) refresh();
      missed = true;
      watchRuns();
    });
    source.addEventListener("changed", refresh);
    source.addEventListener("error", () => show("offline"));
  }

  // A browser keeps few connections to one server: a page that nobody looks at gives its own back.
  function pauseWhenHidden() {
    if (document.hidden) {
      source?.close();
      source = null;
    } else if (!source) {
      listen();
    }
    watchRuns();
  }

  // ---- times, told by the server's clock

  let serverNow = 0;
  let readAt = 0;

  function readClock() {
    serverNow = Date.parse(main.dataset.now);
    readAt = performance.now();
  }

  function ago(seconds) {
    if (seconds < 10) return "just now";
    if (seconds >= 86400) return `${Math.floor(seconds / 86400)} d ago`;
    if (seconds >= 3600) return `${Math.floor(seconds / 3600)} h ago`;
    if (seconds >= 60) return `${Math.floor(seconds / 60)} min ago`;
    return `${Math.floor(seconds)} s ago`;
  }

  function tellTimes() {
    const now = serverNow + (performance.now() - readAt);
    for (const time of document.querySelectorAll("time[data-ago]")) {
      const text = ago((now - Date.parse(time.dateTime)) / 1000);
      if (time.textContent !== text) time.textContent = text;
    }
  }

  // ---- events of runs

  const streams = new Map();

  function changedLine(line) {
    const node = document.createElement("span");
    node.className = { "+": "line line-new", "-": "line line-old" }[line[0]] || "line";
    node.textContent = line;
    return node;
  }

  function eventNode(one) {
    const rich = one.detail || one.more;
    const form = document.querySelector(`template[data-event${rich ? "-detail" : ""}="${CSS.escape(one.kind)}"]`);
    const node = document.importNode(form.content.firstElementChild, true);
    node.dataset.index = one.index;
    node.querySelector(".event-words").textContent = one.text;
    if (rich) {
      const detail = node.querySelector(".event-detail");
      if (one.kind === "edit") detail.append(...one.detail.split("\n").map(changedLine));
      else detail.textContent = one.detail;
      const more = node.querySelector(".event-more");
      if (one.more) more.textContent = `${one.more.toLocaleString("en")} more characters in the log`;
      else more.remove();
    }
    return node;
  }

  const isAtEnd = (list) => list.scrollTop + list.clientHeight >= list.scrollHeight - 24;

  const toEnd = (list) => {
    list.scrollTop = list.scrollHeight;
  };

  // A long run must not fill the memory: what is dropped here is among the earlier events again.
  function dropOldest(list) {
    if (list.children.length <= EVENTS_KEPT) return;
    while (list.children.length > EVENTS_KEPT) list.firstElementChild.remove();
    const earlier = list.parentElement.querySelector(".events-earlier");
    const link = earlier.querySelector("a");
    link.href = `${link.pathname}?before=${list.firstElementChild.dataset.index}`;
    earlier.hidden = false;
  }

  function add(list, events) {
    const follows = isAtEnd(list);
    list.append(...events.map(eventNode));
    if (!follows) return;
    dropOldest(list);
    toEnd(list);
  }

  function stream(list) {
    const heard = new EventSource(`${list.dataset.stream}?after=${list.dataset.after}`);
    let waiting = [];
    const show = () => {
      add(list, waiting);
      waiting = [];
    };
    heard.addEventListener("entry", (message) => {
      list.dataset.after = message.lastEventId;
      waiting.push(JSON.parse(message.data));
      if (waiting.length === 1) setTimeout(show, EVENTS_PAUSE);
    });
    heard.addEventListener("end", () => {
      heard.close();
      streams.delete(list);
      delete list.dataset.stream;
    });
    streams.set(list, heard);
  }

  const isWatched = (list) => {
    const details = list.closest("details.run");
    return list.isConnected && !document.hidden && (!details || details.open);
  };

  // Connections to one server are few: only what is looked at is streamed.
  function watchRuns() {
    for (const [list, heard] of streams) {
      if (isWatched(list) && heard.readyState !== EventSource.CLOSED) continue;
      heard.close();
      streams.delete(list);
    }
    for (const list of document.querySelectorAll(".events[data-stream]")) {
      if (!streams.has(list) && isWatched(list)) {
        toEnd(list);
        stream(list);
      }
    }
  }

  async function runPage(address) {
    const answer = await fetch(address, { headers: { Accept: "text/html" } }).catch(() => null);
    if (!answer?.ok) return null;
    return new DOMParser().parseFromString(await answer.text(), "text/html").querySelector(".run-log");
  }

  async function load(log) {
    const address = log.dataset.load;
    delete log.dataset.load;
    const read = await runPage(address);
    if (!read) {
      log.dataset.load = address;
      return;
    }
    log.replaceChildren(...read.childNodes);
    toEnd(log.querySelector(".events"));
  }

  async function readEarlier(link) {
    const read = await runPage(link.href);
    if (!read) {
      location.href = link.href;
      return;
    }
    const list = link.closest(".run-log").querySelector(".events");
    const below = list.scrollHeight - list.scrollTop;
    list.prepend(...read.querySelector(".events").childNodes);
    list.scrollTop = list.scrollHeight - below;
    const further = read.querySelector(".events-earlier");
    link.href = further.querySelector("a").href;
    link.parentElement.hidden = further.hidden;
    if (further.hidden) list.focus();
  }

  document.addEventListener(
    "toggle",
    (event) => {
      if (!event.target.matches("details.run")) return;
      const log = event.target.open && event.target.querySelector("[data-load]");
      if (log) load(log);
      watchRuns();
    },
    true,
  );
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.(".events-earlier a");
    if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    readEarlier(link);
  });

  // ---- the page

  const address = new URL(location.href);
  if (address.searchParams.has("said")) {
    address.searchParams.delete("said");
    history.replaceState(null, "", address);
  }

  // A second click while the first is on its way would ask twice.
  document.addEventListener("submit", (event) => {
    if (event.target.dataset.sent) event.preventDefault();
    event.target.dataset.sent = "yes";
  });
  window.addEventListener("pageshow", () => {
    for (const form of document.forms) delete form.dataset.sent;
  });

  readClock();
  setInterval(tellTimes, AGO_EVERY);
  watchRuns();
  if (document.body.hasAttribute("data-live")) {
    listen();
    document.addEventListener("visibilitychange", pauseWhenHidden);
  }
})();
