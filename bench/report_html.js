// The questions of each table, drawn when its list is opened. All else on the page is there without this.
"use strict";
(() => {
  const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_";
  const SHOWN = 20;
  const source = document.getElementById("questions");
  if (!source) return;
  const all = JSON.parse(source.textContent);
  const number = (text, place, width) => {
    let value = 0;
    for (const sign of text.slice(place * width, (place + 1) * width)) value = value * 64 + DIGITS.indexOf(sign);
    return value;
  };
  const made = (name, text, kind) => {
    const found = document.createElement(name);
    if (text !== undefined) found.textContent = text;
    if (kind) found.className = kind;
    return found;
  };
  // The same words as report_drill.place_words.
  const words = ([first, tied, right, cut]) => {
    if (!first) return `beyond ${all.places}`;
    const last = first + tied - right;
    return last === first ? `${first}` : `${first} to ${last}${cut ? " or more" : ""}`;
  };
  // The expected place of the first right one in a random order of equals; whoever has none comes last.
  const expected = ([first, tied, right]) => (first ? first - 1 + (tied + 1) / (right + 1) : Infinity);
  const choice = (label, options, changed) => {
    const box = made("label", `${label} `);
    const select = made("select");
    for (const [value, text] of options) {
      const option = made("option", text);
      option.value = value;
      select.append(option);
    }
    select.addEventListener("change", changed);
    box.append(select);
    return [box, select];
  };

  const open = (place, table) => {
    const rules = Object.keys(table.rules);
    const arms = Object.keys(table.rules[rules[0]].arms);
    const ours = arms.includes(all.ours) ? all.ours : arms[0];
    const others = arms.filter((arm) => arm !== ours);
    let from = 0;
    const again = () => { from = 0; draw(); };
    const [ruleBox, rule] = choice("rule", rules.map((name) => [name, name]), again);
    const [besideBox, beside] = choice("beside", others.map((name) => [name, name]), again);
    if (place.dataset.beside) beside.value = place.dataset.beside;
    const [whichBox, which] = choice("show", [
      ["all", "all"], ["below", `${ours} below`], ["above", `${ours} above`], ["missed", `${ours} not first`],
      ["novel", "nothing right is indexed"],
    ], again);
    const findBox = made("label", "find ");
    const find = made("input");
    find.type = "search";
    find.addEventListener("input", again);
    findBox.append(find);
    const body = made("tbody");
    const head = made("tr");
    const list = made("table");
    const top = made("thead");
    top.append(head);
    list.append(top, body);
    const scroll = made("div", undefined, "scroll");
    scroll.tabIndex = 0;
    scroll.setAttribute("role", "region");
    scroll.setAttribute("aria-label", `questions of ${table.task}`);
    scroll.append(list);
    const back = made("button", "previous");
    const on = made("button", "next");
    const where = made("span", "", "small");
    where.setAttribute("role", "status");
    back.addEventListener("click", () => { from -= SHOWN; draw(); });
    on.addEventListener("click", () => { from += SHOWN; draw(); });
    const at = (arm, question) => {
      const told = table.rules[rule.value];
      return told.places[number(told.arms[arm], question, told.width)];
    };
    const unsure = (values, arm, question) => {
      const value = values[arm] ? number(values[arm], question, 2) : 0;
      return value ? ((value - 1) / 1000).toFixed(3) : "";
    };
    const detail = (question, cluster) => {
      const grid = made("div", undefined, "arms");
      const of = made("div");
      of.append(made("span", "cluster"), made("span", cluster));
      grid.append(of);
      for (const arm of arms) {
        const row = made("div");
        const confidence = unsure(table.confidence, arm, question);
        const novelty = unsure(table.novelty, arm, question);
        row.append(made("span", arm), made("span", [
          words(at(arm, question)), confidence && `sure ${confidence}`, novelty && `novel ${novelty}`,
        ].filter(Boolean).join(" · ")));
        grid.append(row);
      }
      return grid;
    };
    const draw = () => {
      const told = table.rules[rule.value];
      const wanted = find.value.toLowerCase();
      const kept = [];
      for (let q = 0; q < table.questions.length; q++) {
        const known = told.answerable[q] === "1";
        const gap = beside.value ? expected(at(ours, q)) - expected(at(beside.value, q)) : 0;
        const cluster = table.clusters[number(table.cluster, q, 3)];
        if (wanted && !`${table.questions[q]} ${cluster}`.toLowerCase().includes(wanted)) continue;
        if (which.value === "novel" ? table.novel[q] === "0" : which.value !== "all" && !known) continue;
        if (which.value === "below" && !(gap > 0)) continue;
        if (which.value === "above" && !(gap < 0)) continue;
        if (which.value === "missed" && expected(at(ours, q)) === 1) continue;
        kept.push([q, known, cluster]);
      }
      from = Math.max(0, Math.min(from, Math.floor(Math.max(0, kept.length - 1) / SHOWN) * SHOWN));
      head.replaceChildren(...["question", ours, ...(beside.value ? [beside.value] : []), "cluster"].map((text) => {
        const cell = made("th", text, text === "cluster" ? "wide" : "");
        cell.scope = "col";
        return cell;
      }));
      body.replaceChildren(...kept.slice(from, from + SHOWN).map(([q, known, cluster]) => {
        const row = made("tr");
        const name = made("th");
        name.scope = "row";
        const button = made("button", table.questions[q], "q");
        button.setAttribute("aria-expanded", "false");
        button.addEventListener("click", () => {
          const shut = button.getAttribute("aria-expanded") === "true";
          button.setAttribute("aria-expanded", String(!shut));
          if (shut) return row.nextSibling.remove();
          const more = made("tr");
          const cell = made("td");
          cell.colSpan = head.children.length;
          cell.append(detail(q, cluster));
          more.append(cell);
          row.after(more);
        });
        name.append(button);
        const shown = (arm) => made("td", known ? words(at(arm, q)) : "nothing right");
        row.append(name, shown(ours), ...(beside.value ? [shown(beside.value)] : []), made("td", cluster, "wide"));
        return row;
      }));
      const last = Math.min(from + SHOWN, kept.length);
      where.textContent = kept.length
        ? `${from + 1} to ${last} of ${kept.length.toLocaleString("en")} that fit`
        : "no question fits";
      back.disabled = from === 0;
      on.disabled = last === kept.length;
    };
    place.replaceChildren(...(rules.length > 1 ? [ruleBox] : []), ...(others.length ? [besideBox] : []), whichBox,
      findBox, scroll, back, on, where);
    draw();
  };

  document.querySelectorAll(".drill").forEach((place) => {
    const table = all.tables[Number(place.dataset.table)];
    const outer = place.closest("details");
    if (!table.questions.length) return;
    let drawn = false;
    const once = () => {
      if (outer.open && !drawn) {
        drawn = true;
        open(place, table);
      }
    };
    outer.addEventListener("toggle", once);
    once();
  });
  // Figures that are folded away are part of a print.
  let unfolded = [];
  addEventListener("beforeprint", () => {
    unfolded = [...document.querySelectorAll("details:not([open]):not(.questions)")];
    for (const one of unfolded) one.open = true;
  });
  addEventListener("afterprint", () => {
    for (const one of unfolded) one.open = false;
  });
})();
