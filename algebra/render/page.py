"""The frame, the style and the script of the HTML page."""

PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<h1>{title}</h1>
<p id="switch">colour by {switch}</p>
<p id="told">Point at an element.</p>
<div class="wide">{picture}</div>
<h2>Where each power of two goes</h2>
<div class="wide">{bases}</div>
<h2>Hardware to element</h2>
<div class="wide">{hardware}</div>
<script>{script}</script>
</body>
</html>
"""
"""Filled by ``str.format``."""

STYLE = """
body{font-family:system-ui,sans-serif;margin:2rem;color:#1a1a1a;background:#fff}
h1{font-size:1rem;font-family:ui-monospace,Menlo,Consolas,monospace;
overflow-wrap:anywhere}
h2{font-size:1rem;margin-top:2rem}
.wide{overflow-x:auto}
table{border-collapse:collapse;font:12px ui-monospace,Menlo,Consolas,monospace}
th,td{border:1px solid #ccc;padding:2px 8px;text-align:right;white-space:nowrap}
th{background:#f4f4f4;font-weight:normal;color:#555}
td.marked{background:#ffe27a;outline:2px solid #1a1a1a;outline-offset:-2px}
label{margin-left:1rem}
#told{position:sticky;top:0;background:#fff;padding:.4rem 0;min-height:1.2em;
font-family:ui-monospace,Menlo,Consolas,monospace}
svg .cell:hover{stroke:#000;stroke-width:2.5}
svg.marking .cell{opacity:.35}
svg .cell.marked{opacity:1!important;stroke:#000;stroke-width:2}
"""

SCRIPT = """
const colours = COLOURS;
const picture = document.querySelector('svg');
const cells = [...picture.querySelectorAll('.cell[data-e]')];
const held = [...document.querySelectorAll('td[data-e]')];
const told = document.getElementById('told');
const key = () => document.querySelector('input[name=key]:checked')?.value;
const fill = (name, value) => colours[name][value % colours[name].length];
const clear = () => {
  picture.classList.remove('marking');
  for (const it of [...cells, ...held]) it.classList.remove('marked');
};
const paint = () => {
  for (const cell of cells)
    cell.setAttribute('fill', fill(key(), +cell.getAttribute('data-' + key())));
  const legend = [...picture.querySelectorAll('.key')];
  for (const swatch of legend) {
    const value = +swatch.getAttribute('data-value');
    const there = value < colours[key()].length;
    swatch.setAttribute('fill', there ? fill(key(), value) : '#fff');
  }
};
const mark = (elements) => {
  for (const it of [...cells, ...held])
    it.classList.toggle('marked', elements.has(it.getAttribute('data-e')));
};
for (const cell of cells)
  cell.addEventListener('mouseenter', () => {
    const value = cell.getAttribute('data-' + key());
    const same = cells.filter(c => c.getAttribute('data-' + key()) === value);
    picture.classList.add('marking');
    mark(new Set(same.map(c => c.getAttribute('data-e'))));
    told.textContent = cell.querySelector('title').textContent;
  });
for (const cell of held)
  cell.addEventListener('mouseenter', () => {
    picture.classList.add('marking');
    mark(new Set([cell.getAttribute('data-e')]));
    told.textContent = 'element (' + cell.getAttribute('data-e') + ')';
  });
picture.addEventListener('mouseleave', clear);
for (const table of document.querySelectorAll('table'))
  table.addEventListener('mouseleave', clear);
document.getElementById('switch').addEventListener('change', paint);
"""
"""``COLOURS`` stands for an object: colour key -> list of colours."""
