// Keeps the page fresh: when the server says that something changed, the page is read again and only what differs
// is replaced, so that focus, scroll position, open details and half-typed text stay. Everything works without it.
"use strict";

(() => {
  const main = document.getElementById("main");
  const light = document.getElementById("live");
  const lightText = document.getElementById("live-text");
  const AGO_EVERY = 10000;
  const LOG_EVERY = 1000;
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
    if (from.hasAttribute("data-keep")) {
      from.toggleAttribute("data-ended", to.hasAttribute("data-ended"));
      return;
    }
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
        followLogs();
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

  // ---- logs that are being written

  const followed = new WeakSet();

  async function follow(log) {
    const details = log.closest("details");
    while (log.isConnected) {
      const ended = log.hasAttribute("data-ended");
      if (!details || details.open) {
        const more = await readOn(log, ended);
        if (ended && !more) return;
        if (more) continue;
      }
      await new Promise((resolve) => setTimeout(resolve, LOG_EVERY));
    }
  }

  async function readOn(log, ended) {
    const offset = Number(log.dataset.offset);
    const answer = await fetch(`${log.dataset.log}?offset=${offset}&whole=${ended}`).catch(() => null);
    if (!answer?.ok) return false;
    const text = await answer.text();
    const next = Number(answer.headers.get("X-Next-Offset"));
    const atEnd = log.scrollTop + log.clientHeight >= log.scrollHeight - 24;
    log.append(text);
    log.dataset.offset = next;
    if (atEnd) log.scrollTop = log.scrollHeight;
    return next > offset;
  }

  function followLogs() {
    for (const log of document.querySelectorAll("pre[data-log]")) {
      if (followed.has(log)) continue;
      followed.add(log);
      log.scrollTop = log.scrollHeight;
      follow(log);
    }
  }

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
  followLogs();
  if (document.body.hasAttribute("data-live")) {
    listen();
    document.addEventListener("visibilitychange", pauseWhenHidden);
  }
})();
