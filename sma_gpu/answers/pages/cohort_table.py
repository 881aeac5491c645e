"""The table of a cohort, and the script that sorts and filters it; without the script the table stands as it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..words import ident
from .cohort_case import Row
from .style import Html, element, join, share

__all__ = ["COHORT_SCRIPT", "cohort_table"]

COHORT_SCRIPT = """
(function () {
  var table = document.getElementById("cases"), body = table.tBodies[0];
  var rows = Array.prototype.slice.call(body.rows);
  var box = document.createElement("p"), label = document.createElement("label");
  var input = document.createElement("input"), told = document.createElement("span");
  box.className = "screen-only filter"; told.className = "small"; input.type = "search";
  told.setAttribute("role", "status");
  label.append("Filter the cases ", input); box.append(label, " ", told);
  table.parentNode.before(box);
  input.addEventListener("input", function () {
    var wanted = input.value.toLowerCase(), shown = 0;
    rows.forEach(function (row) {
      row.hidden = row.textContent.toLowerCase().indexOf(wanted) < 0;
      if (!row.hidden) { shown += 1; }
    });
    told.textContent = wanted ? shown + " of " + rows.length : "";
  });
  Array.prototype.forEach.call(table.tHead.rows[0].cells, function (head, place) {
    var button = document.createElement("button"), sign = -1;
    button.type = "button"; button.append.apply(button, head.childNodes); head.append(button);
    button.addEventListener("click", function () {
      sign = -sign;
      Array.prototype.forEach.call(table.tHead.rows[0].cells, function (other) { other.removeAttribute("aria-sort"); });
      head.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
      var keyed = rows.map(function (row, number) {
        var cell = row.cells[place], value = cell.getAttribute("data-v");
        return [value === null ? cell.textContent : value === "" ? Infinity * sign : +value, number, row];
      });
      keyed.sort(function (a, b) { return (a[0] < b[0] ? -sign : a[0] > b[0] ? sign : 0) || a[1] - b[1]; });
      keyed.forEach(function (entry) { body.append(entry[2]); });
    });
  });
  function unfold() {
    var found = location.hash && document.getElementById(location.hash.slice(1));
    if (found && found.tagName === "DETAILS") { found.open = true; }
  }
  addEventListener("hashchange", unfold); unfold();
})();
"""


def cohort_table(rows: Sequence[Row], entity: str, place_of: Callable[[int], str], *, calibrated: bool) -> Html:
    """Returns the table of all cases, in the order in which they came.

    Args:
        rows: one for each case.
        entity: what a record describes.
        place_of: the address of the section of a case, by its number from 1.
        calibrated: confidences are calibrated.
    """
    measure = "confidence" if calibrated else "explained"
    head = [
        ("case", None),
        (f"first {entity}", None),
        (measure, "n"),
        ("novelty", "n"),
        ("second reaches", "n wide-only"),
    ]
    top = join(element("th", name, scope="col", class_=kind) for name, kind in head)
    body = [_row(row, place_of(number)) for number, row in enumerate(rows, 1)]
    narrow = element("span", "; a wider screen also shows what the second hit reaches", class_="narrow-only")
    caption = join(["All cases in the order in which they came; each leads to its section", narrow])
    inner = [
        element("caption", caption),
        element("thead", element("tr", top)),
        element("tbody", join(body, Html("\n"))),
    ]
    shown = element("table", *inner, id="cases", class_="cohort")
    return element("div", shown, class_="scroll", tabindex=0, role="region", aria_label="All cases")


def _row(row: Row, address: str) -> Html:
    name = element("th", element("a", element("bdi", row.name), href=address), scope="row")
    if row.hit is None:
        pill = element("span", "failed" if row.status == "failed" else "no answer", class_="pill is-loose")
        why = "not sure enough" if row.withheld else row.reason
        first = element("td", pill, Html(" "), element("span", why, class_="small"))
    else:
        key, title = row.hit
        marks = [Html("")]
        if row.status == "abstained":
            marks.append(element("span", "no answer", class_="pill is-loose"))
        if row.novel:
            marks.append(element("span", "looks new", class_="pill is-loose"))
        if row.ties:
            marks.append(element("span", f"{row.ties:,} tied", class_="pill soft"))
        named = element("bdi", title or key)
        shown = [named, ident(key), *marks[1:]] if title and title != key else [named, *marks[1:]]
        first = element("td", join(shown, Html(" ")))
    return element("tr", name, first, _figure(row.confidence), _figure(row.novelty), _figure(row.second, "n wide-only"))


def _figure(value: float | None, kind: str = "n") -> Html:
    if value is None:
        return element("td", "", class_=kind, data_v="")
    return element("td", share(value), class_=kind, data_v=f"{value:.4f}")
