"use strict";
// The list of all questions. All that is shown is made of text nodes: nothing of the data is ever read as markup.
(() => {
  const BATCH = 80;
  const KINDS = {
    broke: ["broke", "bad"], missed: ["must pass, fails", "bad"], fell: ["got worse", "warn"], fixed: ["fixed", "good"],
    absent: ["not found", "warn"], error: ["failed", "bad"], new: ["new", "accent"], relabelled: ["relabelled", "accent"], "not asked": ["not asked", ""], same: ["", ""],
  };
  const ORDER = ["broke", "missed", "fell", "absent", "error", "not asked", "relabelled", "new", "fixed", "same"];
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const { rows, slices, metrics, compared } = read("rows");
  let opened = null;
  const details = () => (opened ??= read("details"));
  const several = new Set(rows.map((row) => row.mode)).size > 1;

  function el(name, attributes, ...children) {
    const node = document.createElement(name);
    for (const [key, value] of Object.entries(attributes || {})) {
      if (key === "on") for (const [event, listener] of Object.entries(value)) node.addEventListener(event, listener);
      else if (value !== null && value !== false && value !== undefined) node.setAttribute(key, value === true ? "" : value);
    }
    for (const child of children.flat(Infinity)) if (child !== null && child !== undefined && child !== "") node.append(child);
    return node;
  }
  function svg(name, attributes) {
    const node = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    return node;
  }
  const tag = (text, tone) => el("span", { class: `tag ${tone || ""}` }, text);

  // what is shown: filters, a search, an order
  const state = { kind: "", text: "", slice: "", mode: "", order: "", shown: [], at: -1, drawn: 0 };
  const worse = (row) => (row.before ?? 99) - (row.now ?? 99);
  const orders = {
    "": null,
    fall: (a, b) => worse(a) - worse(b),
    gain: (a, b) => worse(b) - worse(a),
    rank: (a, b) => (b.now ?? 999) - (a.now ?? 999),
  };
  const counts = {};
  for (const row of rows) {
    row.text = `${row.asked}\n${row.id}`.toLowerCase();
    counts[row.kind] = (counts[row.kind] || 0) + 1;
  }
  const must = rows.filter((row) => row.must).length;
  const ranked = rows.map((row, number) => number).sort((a, b) => ORDER.indexOf(rows[a].kind) - ORDER.indexOf(rows[b].kind) || a - b);

  function matching() {
    const words = state.text.toLowerCase().split(/\s+/).filter(Boolean);
    const chosen = ranked.filter((number) => {
      const row = rows[number];
      if (state.kind === "must" ? !row.must : state.kind && row.kind !== state.kind) return false;
      if (state.mode && row.mode !== state.mode) return false;
      if (state.slice !== "" && !row.slices.includes(Number(state.slice))) return false;
      return words.every((word) => row.text.includes(word));
    });
    const order = orders[state.order];
    return order ? chosen.sort((a, b) => order(rows[a], rows[b]) || a - b) : chosen;
  }

  // the bar above the list
  const search = el("input", { type: "search", placeholder: "Search questions and ids", "aria-label": "Search questions", on: { input: () => { state.text = search.value; refresh(); } } });
  const chips = el("div", { class: "bar chips", role: "group", "aria-label": "Show" });
  const kinds = [["", "all", rows.length], ...ORDER.filter((kind) => kind !== "same" && counts[kind]).map((kind) => [kind, KINDS[kind][0], counts[kind]])];
  if (must) kinds.push(["must", "must pass", must]);
  for (const [kind, label, count] of kinds) {
    const button = el("button", { type: "button", "aria-pressed": "false", on: { click: () => { state.kind = kind; refresh(); } } }, `${label} `, el("span", { class: "soft" }, String(count)));
    button.kind = kind;
    chips.append(button);
  }
  const select = (label, name, options) => {
    const node = el("select", { "aria-label": label, on: { change: () => { state[name] = node.value; refresh(); } } },
      options.map(([value, text]) => el("option", { value }, text)));
    return node;
  };
  const bar = el("div", { class: "bar" }, search,
    slices.length ? select("Slice", "slice", [["", "all slices"], ...slices.map((name, number) => [number, name])]) : null,
    several ? select("Mode", "mode", [["", "all modes"], ...[...new Set(rows.map((row) => row.mode))].map((mode) => [mode, mode])]) : null,
    select("Order", "order", compared
      ? [["", "what broke first"], ["fall", "largest fall first"], ["gain", "largest gain first"], ["rank", "worst rank first"]]
      : [["", "as asked"], ["rank", "worst rank first"]]));
  const status = el("p", { class: "small soft count", role: "status" });
  const list = el("ol", { class: "plain panel rows" });
  const more = el("div", { class: "more" });

  function refresh() {
    state.shown = matching();
    state.drawn = 0;
    state.at = -1;
    list.replaceChildren();
    for (const button of chips.children) button.setAttribute("aria-pressed", String(button.kind === state.kind));
    const answers = `${rows.length} ${rows.length === 1 ? "answer" : "answers"}`;
    status.textContent = state.shown.length === rows.length ? answers : `${state.shown.length} of ${answers}`;
    extend();
  }
  function extend() {
    const next = state.shown.slice(state.drawn, state.drawn + BATCH);
    list.append(...next.map(line));
    state.drawn += next.length;
    more.hidden = state.drawn >= state.shown.length;
    list.hidden = !state.shown.length;
  }

  // one question
  const place = (rank) => (rank === null ? "–" : String(rank));
  function standing(row) {
    if (row.change) return row.change;
    if (row.kind === "error" || row.kind === "not asked" || row.free) return "";
    if (!compared || row.kind === "new" || row.kind === "relabelled") return row.now ? `rank ${row.now}` : "not found";
    return row.before === row.now ? (row.now ? `rank ${row.now}` : "not found") : `rank ${place(row.before)} → ${place(row.now)}`;
  }
  function line(number) {
    const row = rows[number];
    const [word, tone] = KINDS[row.kind] || [row.kind, ""];
    const facts = [row.id, several ? row.mode : "", standing(row)].filter(Boolean).join(" · ");
    const button = el("button", { type: "button", class: "ask", "aria-expanded": "false" },
      el("span", { class: "kind" }, word ? tag(word, tone) : null),
      el("span", { class: "question" }, row.asked || row.id, row.must ? [" ", tag("must pass", "accent")] : null, row.waived ? [" ", tag("waived")] : null),
      el("span", { class: "facts-line soft small" }, facts));
    const item = el("li", {}, button);
    item.number = number;
    button.addEventListener("click", () => toggle(item));
    return item;
  }
  function toggle(item) {
    const button = item.firstChild;
    const open = button.getAttribute("aria-expanded") !== "true";
    button.setAttribute("aria-expanded", String(open));
    if (!open) { item.lastChild.remove(); return; }
    item.append(detail(item.number));
    history.replaceState(null, "", `#q=${encodeURIComponent(rows[item.number].id)}`);
    join(item);
  }

  // what is shown of a question when it is opened
  function detail(number) {
    const row = rows[number], facts = details().details[number];
    const paragraphs = [
      facts.why ? ["Why", facts.why] : null, facts.instead ? ["In its place", facts.instead] : null,
      facts.failure ? ["The call failed", facts.failure] : null,
      facts.abstained ? ["Abstained", facts.abstained === true ? "no reason told" : facts.abstained] : null,
      facts.folders ? ["Folders searched", facts.folders] : null,
    ].filter(Boolean);
    const text = el("dl", { class: "story small" }, paragraphs.map(([name, value]) => el("div", {}, el("dt", { class: "label" }, name), el("dd", {}, value))));
    return el("div", { class: "detail" }, text, expected(row, facts), values(facts), sides(row, facts), answer(facts));
  }
  function expected(row, facts) {
    if (row.free) return el("p", { class: "small" }, el("span", { class: "label" }, "Expected "), "no answer: nothing in the notes has one");
    if (!facts.gold.length) return null;
    return el("div", { class: "small" }, el("p", { class: "label" }, "Expected"), el("ul", { class: "plain gold" }, facts.gold.map(([note, heading, snippets]) =>
      el("li", {}, noteLink(note), heading ? el("span", { class: "soft" }, ` › ${heading}`) : null, snippets.map((snippet) => [" ", el("mark", {}, snippet)])))));
  }
  const figure = (value) => (value === null ? "–" : String(Math.round(value * 1000) / 1000));
  function values(facts) {
    const cells = metrics.map((metric, place) => [metric, ...facts.values[place]]).filter(([, before, now]) => before !== null || now !== null);
    const changed = cells.filter(([, before, now]) => compared && before !== now);
    const figures = (changed.length ? changed : cells.slice(0, 4)).map(([metric, before, now]) =>
      el("li", {}, el("span", { class: "soft" }, `${metric} `), compared && before !== now ? `${figure(before)} → ${figure(now)}` : figure(now)));
    return el("ul", { class: "plain values small" }, figures, el("li", { class: "soft" }, `${facts.ms} ms`), facts.trace ? el("li", { class: "soft" }, "trace ", trace(facts)) : null);
  }
  function trace(facts) {
    return el("code", {}, facts.trace);
  }
  function noteLink(number) {
    if (number < 0) return el("span", { class: "soft" }, "a note that no answer of this run names");
    const [name, address] = details().notes[number];
    return address ? el("a", { href: address, rel: "noopener noreferrer" }, name) : el("span", {}, name);
  }
  function sides(row, facts) {
    const top = Math.max(0, ...[...(facts.old || []), ...facts.new].map((entry) => entry[1] || 0));
    let rank = 0;
    const now = facts.new.map((entry) => ({ entry, rank: entry[5] ? null : ++rank }));
    const before = facts.old ? facts.old.map((entry, place) => ({ entry, rank: place + 1 })) : null;
    const [was, is] = pairs(before || [], now.filter((one) => one.rank));
    const column = (title, entries, other, side) => el("div", { class: `side ${side}` },
      el("h4", {}, title), entries.length ? el("ol", { class: "plain" }, entries.map((one) => passage(one, facts, other, side, top))) : el("p", { class: "soft small" }, "Nothing came back."));
    const oldTitle = "Baseline", newTitle = compared ? "Now" : "Answer";
    if (!before) return el("div", { class: "sides single" }, column(newTitle, now, null, "new"));
    if (!before.length) return el("div", { class: "sides single" }, el("p", { class: "soft small" }, "The baseline keeps no list of this question."), column(newTitle, now, null, "new"));
    const gutter = svg("svg", { class: "joins", "aria-hidden": "true" });
    return el("div", { class: "sides" }, column(oldTitle, before, is, "old"), gutter, column(newTitle, now, was, "new"));
  }
  // the ranks on the other side: of the same passage, else of one under the same heading, in the order of the lists
  function pairs(before, now) {
    const was = new Map(), is = new Map();
    const place = ([note, heading]) => (heading ? JSON.stringify([note, heading]) : null);
    for (const name of [(one) => one.entry[0], (one) => place(details().passages[one.entry[0]])]) {
      for (const one of now) {
        const key = was.has(one) ? null : name(one);
        const twin = key === null ? undefined : before.find((other) => !is.has(other) && name(other) === key);
        if (twin) { was.set(one, twin.rank); is.set(twin, one.rank); }
      }
    }
    return [was, is];
  }
  function passage(one, facts, other, side, top) {
    const { entry, rank } = one;
    const [number, final, vector, lexical, supports] = entry;
    const [note, heading, text, cut] = details().passages[number];
    const gold = supports.length > 0;
    const node = el("li", { class: `passage${gold ? " gold" : ""}` },
      el("span", { class: "rank" }, rank === null ? "=" : String(rank)),
      el("div", { class: "body" },
        el("p", { class: "name" }, noteLink(note), heading ? el("span", { class: "soft" }, ` › ${heading}`) : null, gold ? [" ", tag("✓ expected", "good")] : null, rank === null ? [" ", tag("repeats one above")] : null),
        text === null ? el("p", { class: "soft small" }, "its text is in no answer of this run") : marked(text, cut, gold ? supports.flatMap((support) => (facts.gold[support] || [])[2] || []) : []),
        scores(final, vector, lexical, top)),
      other && rank ? moved(rank, other.get(one), side) : null);
    node.rank = rank;
    node.twin = other ? other.get(one) : undefined;
    node.supports = supports;
    return node;
  }
  function moved(rank, other, side) {
    if (other === undefined) return side === "new" ? tag("came in", "") : tag("gone", "");
    if (other === rank) return el("span", { class: "soft small" }, "=");
    if (side === "old") return el("span", { class: "soft small" }, `now ${other}`);
    return el("span", { class: "small move" }, `${rank < other ? "↑" : "↓"} was ${other}`);
  }
  // the words for which a passage counts; a text that changes its length in lower case is left as it is
  function marked(text, cut, snippets) {
    const lower = text.toLowerCase();
    const spans = lower.length === text.length ? snippets.map((snippet) => [lower.indexOf(snippet.toLowerCase()), snippet.length]).filter(([at, length]) => at >= 0 && length).sort((a, b) => a[0] - b[0]) : [];
    const node = el("p", { class: "text small" });
    let done = 0;
    for (const [at, length] of spans) {
      if (at < done) continue;
      node.append(text.slice(done, at), el("mark", {}, text.slice(at, at + length)));
      done = at + length;
    }
    node.append(text.slice(done));
    if (cut) node.append(el("span", { class: "soft", title: "only the beginning of a passage is kept" }, snippets.length && !spans.length ? " … (what was looked for stands further on; cut)" : " … (cut)"));
    return node;
  }
  function scores(final, vector, lexical, top) {
    if (final === null && vector === null && lexical === null) return null;
    const bar = svg("svg", { class: "score", viewBox: "0 0 60 6", width: 60, height: 6, "aria-hidden": "true" });
    bar.append(svg("rect", { class: "track", width: 60, height: 6, rx: 3 }), svg("rect", { class: "fill", width: top > 0 && final > 0 ? Math.max(2, (60 * final) / top) : 0, height: 6, rx: 3 }));
    const parts = [["vector", vector], ["lexical", lexical]].filter(([, value]) => value !== null).map(([name, value]) => ` · ${name} ${figure(value)}`);
    return el("p", { class: "scores small soft" }, bar, final === null ? "no score" : `score ${figure(final)}`, parts);
  }
  function answer(facts) {
    if (!facts.answer) return null;
    const judged = (facts.judged || []).map(([name, value]) => [tag(`${name} ${figure(value)}`), " "]);
    return el("div", {}, el("p", { class: "label" }, "Answer"), el("p", { class: "answer" }, facts.answer), judged.length ? el("p", {}, judged) : null);
  }

  // lines between the places of a passage in both lists
  function join(item) {
    const gutter = item.querySelector(".joins");
    if (!gutter) return;
    const draw = () => {
      const box = gutter.getBoundingClientRect();
      const middle = (node) => { const at = node.getBoundingClientRect(); return at.top - box.top + Math.min(at.height / 2, 26); };
      const [before, now] = ["old", "new"].map((side) => [...item.querySelectorAll(`.${side} .passage`)]);
      gutter.replaceChildren();
      for (const left of before) {
        const right = now.find((node) => node.rank === left.twin) || now.find((node) => node.supports.some((support) => left.supports.includes(support)));
        if (!right) continue;
        const [from, to, width] = [middle(left), middle(right), box.width];
        gutter.append(svg("path", { class: left.supports.length ? "gold" : "", d: `M0 ${from}C${width / 2} ${from} ${width / 2} ${to} ${width} ${to}` }));
      }
    };
    // it tells the size at once, too
    new ResizeObserver(draw).observe(item);
  }

  // keys
  const help = el("dialog", { "aria-labelledby": "keys-title" }, el("h2", { id: "keys-title" }, "Keys"),
    el("dl", { class: "keys" }, [["/", "search"], ["j", "next question (also ↓)"], ["k", "previous question (also ↑)"], ["Enter", "open or close a question"], ["f", "next filter"], ["Esc", "leave the search; close"], ["?", "these keys"]].flatMap(([key, what]) => [el("dt", {}, el("kbd", {}, key)), el("dd", {}, what)])),
    el("form", { method: "dialog" }, el("button", { class: "primary" }, "Close")));
  help.querySelector("button").addEventListener("click", (event) => { event.preventDefault(); help.close(); });
  function step(by) {
    const at = Math.max(0, Math.min(state.at + by, state.shown.length - 1));
    while (at >= state.drawn && state.drawn < state.shown.length) extend();
    const item = list.children[at];
    if (!item) return;
    state.at = at;
    item.firstChild.focus();
    item.firstChild.scrollIntoView({ block: "nearest" });
  }
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || help.open) return;
    const typing = event.target.matches("input, select, textarea");
    if (typing) {
      if (event.target === search && (event.key === "Escape" || event.key === "Enter" || event.key === "ArrowDown")) { event.preventDefault(); state.at = -1; search.blur(); step(1); }
      return;
    }
    const inList = list.contains(event.target);
    const act = {
      "/": () => { search.focus(); search.select(); }, "?": () => help.showModal(), j: () => step(1), k: () => step(-1),
      f: () => { const next = (kinds.findIndex(([kind]) => kind === state.kind) + 1) % kinds.length; state.kind = kinds[next][0]; refresh(); },
      ...(inList ? { ArrowDown: () => step(1), ArrowUp: () => step(-1), Escape: () => { const item = list.children[state.at]; if (item && item.childElementCount > 1) toggle(item); } } : {}),
    }[event.key];
    if (act) { event.preventDefault(); act(); }
  });
  list.addEventListener("focusin", (event) => { state.at = [...list.children].indexOf(event.target.closest("li")); });

  // a question by its address
  function follow() {
    const wanted = new URLSearchParams(location.hash.slice(1)).get("q");
    if (wanted === null) return;
    const place = () => state.shown.findIndex((number) => rows[number].id === wanted);
    if (place() < 0) { Object.assign(state, { kind: "", text: "", slice: "", mode: "" }); search.value = ""; for (const one of bar.querySelectorAll("select")) one.value = state[one.name] || ""; refresh(); }
    const at = place();
    if (at < 0) return;
    state.at = at - 1;
    step(1);
    const item = list.children[at];
    if (item.childElementCount === 1) toggle(item);
    item.scrollIntoView({ block: "start" });
  }
  window.addEventListener("hashchange", follow);

  // a command to copy; where nothing may be written to the clipboard, it is selected
  for (const command of document.querySelectorAll(".command")) {
    const code = command.querySelector("code");
    const select = () => getSelection().selectAllChildren(code);
    const copy = el("button", { type: "button" }, "Copy");
    copy.addEventListener("click", () => {
      select();
      const written = navigator.clipboard ? navigator.clipboard.writeText(code.textContent) : Promise.reject();
      written.then(() => { copy.textContent = "Copied"; }, select);
    });
    command.append(copy);
  }

  // on paper nothing is folded
  window.addEventListener("beforeprint", () => { for (const folded of document.querySelectorAll("details")) folded.open = true; });

  const browser = document.getElementById("browser");
  browser.append(el("div", { class: "tools" }, bar, chips, status), list, more, help);
  browser.hidden = false;
  document.body.classList.add("live");
  for (const node of document.querySelectorAll(".scripted")) node.hidden = false;
  refresh();
  new IntersectionObserver((seen) => { if (seen.some((one) => one.isIntersecting)) extend(); }, { rootMargin: "800px" }).observe(more);
  follow();
  // so that the first question opens at once, too
  (window.requestIdleCallback || window.setTimeout)(() => details());
})();
