/* Search and sort, where a browser runs scripts; without one the page shows the same. Folded parts are
   opened for printing. No "less than" and no "and" stands here, so that the page is XML, too. */
(function () {
  function make(name, text) { var e = document.createElement(name); e.textContent = text || ""; return e; }
  /* 1.06×, 97.5 %, 64Kx1K: as a number, of a size all its elements; null of any other text. */
  function number(text) {
    var parts = text.replace(/ axis.*/, "").split("x"), all = 1;
    for (var i = 0; i !== parts.length; i++) {
      var found = /^([+-]?[0-9.]+)([KMGT]?)( %|×)?$/.exec(parts[i]);
      if (!found) return null;
      all *= Number(found[1]) * Math.pow(1024, " KMGT".indexOf(found[2] || " "));
    }
    return all;
  }
  function compare(a, b) {
    var x = number(a), y = number(b);
    if (x !== null ? y !== null : false) return x - y;
    return x !== null ? -1 : y !== null ? 1 : a.localeCompare(b);
  }
  function sort(head, column) {
    var body = head.parentNode.parentNode.parentNode.tBodies[0], rows = Array.from(body.rows);
    var down = head.getAttribute("aria-sort") === "ascending";
    Array.from(head.parentNode.cells).forEach(function (each) { each.removeAttribute("aria-sort"); });
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    rows.sort(function (a, b) {
      var order = compare(a.cells[column].textContent, b.cells[column].textContent);
      return down ? -order : order;
    });
    rows.forEach(function (row) { body.appendChild(row); });
  }
  document.querySelectorAll("table.sorted").forEach(function (table) {
    Array.from(table.tHead.rows[0].cells).forEach(function (head, column) {
      var button = make("button", head.textContent);
      head.textContent = "";
      head.appendChild(button);
      button.addEventListener("click", function () { sort(head, column); });
    });
    var box = make("input"), found = make("span"), rows = Array.from(table.tBodies[0].rows);
    var line = make("p");
    line.className = "search";
    box.type = "search";
    box.placeholder = "search, such as f32 axis 0 cold";
    box.setAttribute("aria-label", "search the winners");
    line.append(box, found);
    table.parentNode.before(line);
    box.addEventListener("input", function () {
      var words = box.value.toLowerCase().split(/\s+/), left = 0;
      rows.forEach(function (row) {
        var text = Array.from(row.cells, function (cell) { return cell.textContent; }).join(" ").toLowerCase();
        var tokens = text.split(/\s+/);
        row.hidden = !words.every(function (word) { /* a number is a whole word: axis 0 */
          return /^[0-9]+$/.test(word) ? tokens.includes(word) : text.includes(word);
        });
        left += row.hidden ? 0 : 1;
      });
      found.textContent = left + " of " + rows.length;
    });
  });
  var folded = [];
  window.addEventListener("beforeprint", function () {
    folded = Array.from(document.querySelectorAll("details:not([open])"));
    folded.forEach(function (each) { each.open = true; });
  });
  window.addEventListener("afterprint", function () {
    folded.forEach(function (each) { each.open = false; });
  });
})();
