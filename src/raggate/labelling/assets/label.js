"use strict";
/* The page to label. Every text from elsewhere becomes a text node; nothing is kept but by the server's journal. */
(() => {
  const start = JSON.parse(document.getElementById("start").textContent);
  const $ = (id) => document.getElementById(id);
  const remembered = new URLSearchParams(location.hash.slice(1)).get("as");
  const state = { by: remembered || start.annotator, view: "judge", questions: [], at: 0, passage: 0, undo: [] };
  /* passages that are left for later, while this page is open */
  const skipped = new Set();
  const texts = new Map();

  function make(tag, properties = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(properties)) {
      if (name === "class") element.className = value;
      else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else if (name === "list-of") element.setAttribute("list", value);
      else if (name.includes("-") || name === "for" || name === "role") element.setAttribute(name, value);
      else element[name] = value;
    }
    element.append(...children.filter((child) => child !== null && child !== undefined));
    return element;
  }
  const key = (name) => make("kbd", { "aria-hidden": "true" }, name);
  const tag = (text, kind = "") => make("span", { class: `tag ${kind}` }, text);

  /* ---- the server ---- */
  const REFUSED = 409, TOO_LARGE = 413;
  const SILENT = "raggate does not answer: what is not kept yet is in this page alone, which tries again. If raggate was ended, start it and open its new address; all that was kept is there.";
  async function answered(path, options) {
    let answer;
    try { answer = await fetch(path, options); } catch { throw new Error(SILENT); }
    const json = answer.headers.get("content-type")?.startsWith("application/json");
    const value = json ? await answer.json() : { problem: await answer.text() };
    if (!answer.ok) throw Object.assign(new Error(value.problem), { hint: value.hint, status: answer.status });
    return value;
  }
  const ask = (path, parameters = {}) => answered(`${path}?${new URLSearchParams({ by: state.by, ...parameters })}`);
  const send = (path, body, keepalive = false) => answered(path, {
    method: "POST", keepalive, headers: { "content-type": "application/json" }, body: JSON.stringify(body),
  });
  function problem(error) {
    $("problem").hidden = !error;
    if (error) $("problem").textContent = [error.message, error.hint].filter(Boolean).join(" ");
  }

  /* ---- keeping: in order, again and again until the server has it ---- */
  const queue = [];
  let sending = false;
  function keep(act) {
    queue.push({ by: state.by, act });
    showSaved();
    flush();
  }
  const MOST = 200;
  let most = MOST, refusal = null;
  async function flush() {
    if (sending || !queue.length) return;
    sending = true;
    const by = queue[0].by;
    let count = queue.findIndex((item) => item.by !== by);
    count = Math.min(count < 0 ? queue.length : count, most);
    try {
      await send("decide", { by, acts: queue.slice(0, count).map((item) => item.act) });
      queue.splice(0, count);
      problem(refusal);
    } catch (error) {
      if (![REFUSED, TOO_LARGE].includes(error.status)) {
        problem(error);
        setTimeout(() => { sending = false; flush(); }, 1000);
        showSaved(true);
        return;
      }
      /* one that is refused takes no others with it */
      if (count > 1) most = 1;
      else { queue.shift(); problem(refusal = error); }
    }
    sending = false;
    showSaved();
    if (queue.length) { flush(); return; }
    most = MOST;
    if (refusal) { refusal = null; await load(); }
  }
  function showSaved(failed = false) {
    const waiting = queue.length;
    $("saved").textContent = waiting ? `${waiting} not kept yet` : "all kept";
    $("saved").className = `tag ${failed ? "bad" : waiting ? "warn" : "good"}`;
  }
  addEventListener("beforeunload", (event) => { if (queue.length) event.preventDefault(); });

  /* ---- what there is ---- */
  async function load() {
    try {
      const value = await ask("overview");
      const here = question()?.id, mark = passage()?.id;
      Object.assign(state, value);
      state.questions.forEach((item) => item.passages.forEach((one) => { one.skipped = skipped.has(`${item.id}/${one.id}`); }));
      texts.clear();
      const first = state.questions.findIndex(here === undefined ? openIn : (item) => item.id === here);
      state.at = Math.max(first, 0);
      $("who").value = state.by;
      /* whoever comes back finds what they left */
      const at = question()?.passages.findIndex((item) => item.id === mark) ?? -1;
      showAll(at < 0 ? null : at);
    } catch (error) { problem(error); }
  }
  const question = () => state.questions[state.at];
  const passage = () => question()?.passages[state.passage];
  const isOpen = (item) => item.grade === null && !item.skipped;
  const openIn = (item) => item.passages.filter(isOpen).length;

  function listed() {
    const words = $("find").value.toLowerCase();
    const openOnly = $("open-only").checked;
    return state.questions
      .map((item, place) => ({ item, place }))
      .filter(({ item, place }) => place === state.at || ((!openOnly || item.passages.length) &&
        (!words || `${item.id} ${item.question} ${item.tags.join(" ")}`.toLowerCase().includes(words))));
  }
  const SHOWN = 200;
  function showList(all = false) {
    const places = listed();
    const here = places.findIndex(({ place }) => place === state.at);
    const begin = all ? 0 : Math.max(Math.min(here - SHOWN / 2, places.length - SHOWN), 0);
    const part = all ? places : places.slice(begin, begin + SHOWN);
    const rows = part.map(({ item, place }) => {
      const open = openIn(item);
      const count = item.passages.length ? (open ? `${item.passages.length - open}/${item.passages.length}` : "✓") : "–";
      return make("li", {}, make("button", { "aria-current": String(place === state.at), onclick: () => go(place) },
        make("span", { class: "q" }, item.question), make("span", { class: open || !item.passages.length ? "n" : "n done" }, count)));
    });
    const more = places.length - part.length;
    if (more) rows.push(make("li", {}, make("button", { class: "more", onclick: () => showList(true) }, make("span", { class: "soft" }, `… ${more} more`))));
    $("questions").replaceChildren(...rows);
    $("questions").querySelector('[aria-current="true"]')?.scrollIntoView({ block: "nearest" });
  }
  function showMeter() {
    const all = state.questions.flatMap((item) => item.passages);
    const judged = all.filter((item) => item.grade !== null).length;
    $("meter").setAttribute("aria-valuemax", all.length);
    $("meter").setAttribute("aria-valuenow", judged);
    $("meter-bar").style.width = `${all.length ? (100 * judged) / all.length : 0}%`;
    $("meter").title = `${judged} of ${all.length} passages`;
  }

  /* ---- judging ---- */
  function go(place, at = null) {
    state.at = place;
    const first = question()?.passages.findIndex(isOpen);
    state.passage = at ?? Math.max(first ?? 0, 0);
    showJudge();
  }
  async function textsOf(item) {
    if (!texts.has(item.id)) texts.set(item.id, ask("question", { id: item.id }));
    return texts.get(item.id);
  }
  let shown = 0;
  /* a key judges what can be seen, never what is still on its way */
  let onDesk = false;
  async function showJudge() {
    onDesk = false;
    showList();
    showMeter();
    const item = question();
    const turn = ++shown;
    if (!item) { $("desk").replaceChildren(make("p", { class: "empty soft" }, "The golden set has no question yet: add some with raggate golden add.")); return; }
    let value;
    const slow = setTimeout(() => { if (turn === shown) showLate(); }, 300);
    try { value = await textsOf(item); } catch (error) { texts.delete(item.id); late(turn, error); return; } finally { clearTimeout(slow); }
    if (turn !== shown) return;
    const next = state.questions[state.at + 1];
    if (next) textsOf(next).catch(() => texts.delete(next.id));
    const inside = $("desk").contains(document.activeElement);
    $("desk").replaceChildren(head(item), item.passages.length ? card(item, value) : nothing(item), gold(value));
    onDesk = true;
    /* the button that was pressed is gone: a reader goes on with the text */
    if (inside) $("desk").querySelector(".passage .text")?.focus({ preventScroll: true });
  }
  function showLate() {
    $("desk").replaceChildren(make("p", { class: "panel empty soft", role: "status" }, "The passages of this question are not here yet."));
  }
  function late(turn, error) {
    if (turn !== shown) return;
    problem(error);
    showLate();
    if (!error.status) setTimeout(() => { if (turn === shown && state.view === "judge") showJudge(); }, 1000);
  }
  function head(item) {
    return make("section", { class: "question" },
      make("div", { class: "label" }, `${item.id} · question ${state.at + 1} of ${state.questions.length}`),
      make("h2", {}, item.question),
      make("div", { class: "bar facts" }, item.must_pass ? tag("must pass") : null, ...item.tags.map((name) => tag(name)), item.answerable ? null : tag("no note answers it", "warn")));
  }
  function nothing(item) {
    return make("div", { class: "panel empty soft" }, item.answerable
      ? "Every passage that came back for this question is judged."
      : "No note answers this question, so nothing that came back for it has to be judged.");
  }
  function card(item, value) {
    const mark = passage();
    const text = value.passages.find((one) => one.id === mark.id);
    const dots = item.passages.map((one, place) => make("button", {
      class: one.grade === null ? "" : "judged", "aria-current": String(place === state.passage),
      "aria-label": `passage ${place + 1}${one.grade === null ? "" : `, grade ${one.grade}`}`,
      onclick: () => { state.passage = place; showJudge(); },
    }, one.grade === null ? (one.skipped ? "·" : String(place + 1)) : `${one.grade}`));
    const grades = state.grades.map((says, grade) => make("button", {
      "aria-pressed": String(mark.grade === grade), onclick: () => judge(grade),
    }, key(String(grade)), ` ${grade}`, make("small", {}, says)));
    grades.forEach((button) => button.childNodes[1].remove());
    return make("div", {},
      make("div", { class: "dots", role: "group", "aria-label": "Passages" }, ...dots),
      make("article", { class: "panel passage" },
        make("div", { class: "place" }, make("b", {}, text.heading || text.note), text.heading ? text.note : null),
        make("div", { class: "text", tabIndex: 0, role: "group", "aria-label": `Passage ${state.passage + 1} of ${item.passages.length}` }, text.text),
        make("div", { class: "grades", role: "group", "aria-label": "Grade" }, ...grades),
        make("div", { class: "bar under" },
          make("button", { "aria-pressed": String(mark.misleading), onclick: misleading }, "misleading ", key("m")),
          text.snippet ? make("button", { "aria-pressed": String(!!mark.snippet), onclick: () => holds(text.snippet) }, `must hold “${text.snippet}”`) : null,
          make("button", { onclick: skip }, "skip ", key("s")),
          make("button", { onclick: undo, disabled: !state.undo.length }, "undo ", key("u")))));
  }
  function gold(value) {
    const rows = value.gold.map((one) => make("div", { class: "gold" },
      make("b", {}, one.heading || one.note), " ", tag(`grade ${one.grade}`, "good"),
      make("div", { class: "small soft" }, one.note, one.snippets.length ? ` · must hold: ${one.snippets.join(" / ")}` : ""),
      one.text ? make("pre", {}, one.text) : null));
    if (value.facts.length) rows.push(make("p", { class: "small soft gold" }, `expected facts: ${value.facts.join("; ")}`));
    if (!rows.length) return make("span");
    return make("details", { id: "gold" }, make("summary", {}, "What counts as its answer now ", key("g")), ...rows);
  }
  function judge(grade, misled = false) {
    const item = question(), mark = passage();
    if (!mark || !onDesk) return;
    state.undo.push({ do: "grade", case: item.id, passage: mark.id, grade: mark.grade, misleading: mark.misleading, text: mark.snippet });
    if (grade === 0) mark.snippet = "";
    Object.assign(mark, { grade, misleading: misled, skipped: false });
    keep({ do: "grade", case: item.id, passage: mark.id, grade, misleading: misled, text: mark.snippet });
    onwards();
  }
  function holds(snippet) {
    // it goes with the grade: of a passage that has one it is sent at once
    const item = question(), mark = passage();
    if (!mark || !onDesk) return;
    mark.snippet = mark.snippet ? "" : snippet;
    if (mark.grade) keep({ do: "grade", case: item.id, passage: mark.id, grade: mark.grade, misleading: mark.misleading, text: mark.snippet });
    showJudge();
  }
  function misleading() {
    const mark = passage();
    if (mark && onDesk) judge(mark.grade ?? 0, !mark.misleading);
  }
  function skip() {
    const item = question(), mark = passage();
    if (!mark || !onDesk) return;
    if (mark.grade === null) {
      mark.skipped = true;
      skipped.add(`${item.id}/${mark.id}`);
    }
    onwards();
  }
  function onwards() {
    const item = question();
    const later = item.passages.findIndex((one, place) => place > state.passage && isOpen(one));
    const any = later < 0 ? item.passages.findIndex(isOpen) : later;
    if (any >= 0) { state.passage = any; showJudge(); return; }
    const order = [...state.questions.keys()];
    const next = [...order.slice(state.at + 1), ...order.slice(0, state.at)].find((place) => openIn(state.questions[place]));
    if (next === undefined) showEnd(); else go(next);
  }
  function showEnd() {
    showList();
    showMeter();
    shown++;
    onDesk = false;
    const later = state.questions.flatMap((item) => item.passages).filter((item) => item.grade === null);
    const again = () => { skipped.clear(); later.forEach((item) => { item.skipped = false; }); go(state.questions.findIndex(openIn)); };
    $("desk").replaceChildren(make("section", { class: "panel empty", id: "end", role: "status" },
      make("p", {}, later.length ? `You have seen every passage, and skipped ${later.length}.` : "You have judged every passage."),
      make("div", { class: "bar" },
        make("button", { class: "primary", onclick: () => view("review") }, "Review and write ", key("w")),
        later.length ? make("button", { onclick: again }, "Show what was skipped") : null)));
  }
  function undo() {
    const act = state.undo.pop();
    if (!act) return;
    const place = state.questions.findIndex((item) => item.id === act.case);
    if (place < 0) return;
    const item = state.questions[place];
    keep(act);
    const at = item.passages.findIndex((one) => one.id === act.passage);
    Object.assign(item.passages[at], { grade: act.grade, misleading: act.misleading, snippet: act.text });
    go(place, at);
  }
  function step(by) {
    const count = question()?.passages.length ?? 0;
    if (count) { state.passage = (state.passage + by + count) % count; showJudge(); }
  }
  function stepQuestion(by) {
    const places = listed().map(({ place }) => place);
    const next = places[places.indexOf(state.at) + by];
    if (next !== undefined) go(next);
  }

  /* ---- review ---- */
  let reviews = 0;
  async function showReview(done = null) {
    const turn = ++reviews;
    while (queue.length && !$("saved").classList.contains("bad")) await new Promise((resolve) => setTimeout(resolve, 30));
    let value;
    try { value = await ask("review"); } catch (error) { problem(error); return; }
    if (turn !== reviews) return;
    const parts = [make("h2", {}, "Review and write")];
    if (done) parts.push(make("p", { class: "panel padded good", role: "status", id: "written" }, done));
    parts.push(...splits(value), ...refused(value), ...changes(value), ...agreement(value));
    $("view-review").replaceChildren(make("section", {}, ...parts));
  }
  function splits(value) {
    if (!value.splits.length) return [];
    const rows = value.splits.map((one) => make("article", { class: "panel split" },
      make("div", { class: "padded" }, make("b", {}, one.question), make("div", { class: "small soft" }, `${one.note} ${one.heading}`)),
      make("div", { class: "text" }, one.text),
      make("div", { class: "bar padded" }, ...one.votes.map((vote) => tag(`${vote.by}: ${vote.grade}`)),
        make("span", { class: "soft small" }, "settle on"),
        ...[0, 1, 2, 3].map((grade) => make("button", { title: state.grades[grade], onclick: async () => {
          keep({ do: "settle", case: one.case, passage: one.passage, grade });
          await showReview();
        } }, String(grade))))));
    return [make("h3", {}, `People differ on whether ${value.splits.length === 1 ? "this passage answers" : `these ${value.splits.length} passages answer`}`),
      make("p", { class: "soft small" }, "They wait until somebody settles them or grades anew."), ...rows];
  }
  function refused(value) {
    if (!value.refused.length) return [];
    return [make("h3", { class: "warn" }, "Cannot be written"),
      make("ul", {}, ...value.refused.map((one) => make("li", {}, make("b", {}, one.what), `: ${one.why}`)))];
  }
  function changes(value) {
    if (!value.files.length) return [make("p", { class: "panel empty soft" }, "Nothing to write: the files say all that you decided.")];
    const files = value.files.map((file) => make("details", { open: true }, make("summary", {}, make("b", {}, file.name)),
      make("pre", { class: "diff" }, ...file.lines.map((line, at) => changedLine(line, file.lines[line.startsWith("+") ? at - 1 : at + 1])),
        file.more ? make("div", { class: "soft" }, `… and ${file.more} more ${file.more === 1 ? "line" : "lines"}`) : null)));
    return [value.sentences.length ? make("h3", {}, "In the golden set") : null,
      make("ul", { class: "panel padded changes" }, ...value.sentences.map((line) => make("li", {}, line))),
      make("div", { class: "bar writing" }, make("button", { class: "primary", id: "write", onclick: () => write(value.digest) },
        `Write ${value.files.length === 1 ? "this file" : `these ${value.files.length} files`}`)), ...files].filter(Boolean).filter((part) => part.tagName !== "UL" || part.children.length);
  }
  /* a line with what tells it from the one that it replaces, or that replaces it, marked */
  function changedLine(line, other) {
    const kind = line.startsWith("+") ? "in" : line.startsWith("-") ? "out" : "soft";
    const pair = { in: "-", out: "+" }[kind];
    if (!pair || !other?.startsWith(pair)) return make("div", { class: kind }, line);
    let begin = 1, end = 0;
    const most = Math.min(line.length, other.length);
    while (begin < most && line[begin] === other[begin]) begin++;
    while (end < most - begin && line[line.length - 1 - end] === other[other.length - 1 - end]) end++;
    return make("div", { class: kind }, line.slice(0, begin), make("b", {}, line.slice(begin, line.length - end)), line.slice(line.length - end));
  }
  function agreement(value) {
    const all = value.agreement;
    if (!all.passages) return [];
    const rows = all.pairs.map((pair) => make("tr", {}, make("th", { scope: "row" }, pair.names.join(" and ")), make("td", { class: "number" }, String(pair.shared)), make("td", { class: "number" }, pair.kappa)));
    return [make("h3", {}, "Agreement"),
      make("p", { class: "soft small" }, `Over ${all.passages === 1 ? "1 passage" : `${all.passages} passages`} that several people graded: Krippendorff's alpha ${all.alpha} and agreement ${all.percent} on whether a passage answers; Cohen's kappa with quadratic weights on the grades.`),
      make("div", { class: "panel scroll" }, make("table", {}, make("thead", {}, make("tr", {}, make("th", {}, "people"), make("th", { class: "number" }, "passages"), make("th", { class: "number" }, "kappa"))), make("tbody", {}, ...rows)))];
  }
  async function write(digest) {
    $("write").disabled = true;
    try {
      const value = await send("write", { by: state.by, digest });
      problem(null);
      state.undo = [];
      await load();
      await showReview(`Wrote ${value.written.join(", ")}. The next check uses it; git diff shows it.`);
    } catch (error) {
      problem(error.status ? error : new Error("raggate did not answer. What is not written is shown below."));
      await load();
      await showReview();
    }
  }

  /* ---- views and keys ---- */
  function view(name) {
    state.view = name;
    for (const one of ["judge", "review"]) {
      $(`view-${one}`).hidden = one !== name;
      $(`tab-${one}`).setAttribute("aria-pressed", String(one === name));
    }
    showAll();
  }
  function showAll(at = null) {
    showMeter();
    if (state.view === "judge") go(state.at, at);
    if (state.view === "review") showReview();
  }
  const judging = {
    0: () => judge(0), 1: () => judge(1), 2: () => judge(2), 3: () => judge(3), m: misleading, s: skip, u: undo,
    g: () => { const element = $("gold"); if (element) element.open = !element.open; },
    ArrowLeft: () => step(-1), ArrowRight: () => step(1), h: () => step(-1), l: () => step(1),
    ArrowUp: () => stepQuestion(-1), ArrowDown: () => stepQuestion(1), k: () => stepQuestion(-1), j: () => stepQuestion(1),
    "/": () => $("find").focus(),
  };
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if ($("keys").open) return;
    if (event.target.matches("input:not([type=checkbox]), textarea")) {
      if (event.key === "Escape" || (event.key === "Enter" && event.target.tagName === "INPUT")) event.target.blur();
      return;
    }
    const common = { w: () => view("review"), "?": () => $("keys").showModal(), Escape: () => view("judge") };
    const action = { ...common, ...(state.view === "judge" ? judging : {}) }[event.key];
    if (!action || (event.repeat && /^[0-3ms]$/.test(event.key))) return;
    event.preventDefault();
    action();
  });
  $("tab-judge").onclick = () => view("judge");
  $("tab-review").onclick = () => view("review");
  $("help").onclick = () => $("keys").showModal();
  $("close-keys").onclick = () => $("keys").close();
  $("find").oninput = () => showList();
  $("open-only").onchange = () => showList();
  $("who").onchange = async () => {
    const name = $("who").value.trim();
    if (!name) { $("who").value = state.by; return; }
    skipped.clear();
    state.by = name;
    state.undo = [];
    state.passage = -1;
    history.replaceState(null, "", `#${new URLSearchParams({ as: name })}`);
    await load();
  };
  document.addEventListener("visibilitychange", () => {
    const typing = document.activeElement?.matches("input:not([type=checkbox]), textarea");
    if (!document.hidden && !queue.length && !typing) load();
  });
  load();
})();
