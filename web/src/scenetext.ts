/**
 * Edits of a scene's text by people who do not see it: a clause is set, a block is added or taken out, and everything else
 * stays as it was typed, comments and layout included. What the words mean is the library's business; this knows only the
 * form: a keyword, labels up to a colon, clauses that end with a semicolon, and `end`.
 */

export interface Token {
  text: string;
  from: number;
  to: number;
}

export interface Clause {
  word: string;
  tokens: Token[];
  from: number;
  /** Without its semicolon. */
  to: number;
  /** With it, if it has one. */
  end: number;
}

export interface Block {
  keyword: string;
  labels: string[];
  clauses: Clause[];
  from: number;
  /** Where its header ends, and where its `end` begins. */
  body: number;
  last: number;
  to: number;
}

/** Words, strings, colons and semicolons; comments are passed over. */
export function tokens(text: string): Token[] {
  const found: Token[] = [];
  const pattern = /\/\*[\s\S]*?(?:\*\/|$)|\/\/[^\n]*|"[^"\n]*"?|[;:]|(?:(?!\/\*|\/\/)[^\s;:"])+/g;
  for (const m of text.matchAll(pattern)) {
    if (m[0].startsWith('/*') || m[0].startsWith('//')) continue;
    found.push({ text: m[0], from: m.index, to: m.index + m[0].length });
  }
  return found;
}

export function parse(text: string): Block[] {
  const all = tokens(text);
  const blocks: Block[] = [];
  let i = 0;
  while (i < all.length) {
    const keyword = all[i++]!;
    if (keyword.text === ';' || keyword.text === ':' || keyword.text === 'end') continue;
    const block: Block = { keyword: keyword.text, labels: [], clauses: [], from: keyword.from, body: keyword.to, last: text.length, to: text.length };
    // Labels, if a colon comes before anything that ends a clause.
    let k = i;
    while (k < all.length && ![';', ':', 'end'].includes(all[k]!.text)) k++;
    if (all[k]?.text === ':') {
      block.labels = all.slice(i, k).map((t) => t.text);
      block.body = all[k]!.to;
      i = k + 1;
    }
    let open: Token[] = [];
    const close = (end: number) => {
      if (open.length > 0) block.clauses.push({ word: open[0]!.text, tokens: open, from: open[0]!.from, to: open.at(-1)!.to, end });
      open = [];
    };
    for (; i < all.length; i++) {
      const t = all[i]!;
      if (t.text === 'end') {
        close(open.at(-1)?.to ?? t.from);
        block.last = t.from;
        block.to = t.to;
        i++;
        break;
      }
      if (t.text === ';') close(t.to);
      else open.push(t);
    }
    close(open.at(-1)?.to ?? text.length);
    blocks.push(block);
  }
  return blocks;
}

/** The block of a solid or particle, if it has a label of its own. */
export function solidBlock(text: string, name: string): Block | null {
  return parse(text).find((b) => (b.keyword === 'solid' || b.keyword === 'particle') && b.labels.length === 1 && b.labels[0] === name) ?? null;
}

/** The block of a joint or constraint: they are numbered as they stand. */
export function jointBlock(text: string, index: number): Block | null {
  return parse(text).filter((b) => b.keyword === 'joint' || b.keyword === 'constraint')[index] ?? null;
}

/** Up to a micrometre, without zeros that say nothing. */
export function num(x: number): string {
  const s = (Math.round(x * 1e6) / 1e6).toFixed(6).replace(/\.?0+$/, '');
  return s === '-0' || s === '' ? '0' : s;
}
export const nums = (v: readonly number[]): string => v.map(num).join(' ');
/** Radians as degrees, the way people write angles: to a hundred-thousandth, since poses on show have 32 bits. */
export const degs = (radians: number): string => `${num(Math.round((radians * 180e5) / Math.PI) / 1e5)} deg`;

const splice = (text: string, from: number, to: number, by: string) => text.slice(0, from) + by + text.slice(to);

/** From the start of its line, if nothing stands before it, up to behind the line break: what is left has no hole. */
function whole(text: string, from: number, to: number): [number, number] {
  const start = text.lastIndexOf('\n', from - 1) + 1;
  const alone = text.slice(start, from).trim() === '';
  const rest = /^[ \t]*(\r?\n|$)/.exec(text.slice(to));
  if (alone && rest) return [start, to + rest[0].length];
  // Within a line: the space before it goes along.
  let a = from;
  while (a > start && /[ \t]/.test(text[a - 1]!)) a--;
  return [a, to];
}

/** Does this clause begin with these words? */
const begins = (c: Clause, words: string[]) => words.every((w, i) => c.tokens[i]?.text === w);

/**
 * Sets the clause that begins with `words` to what follows; `null` takes it out. A clause that is not there is put behind
 * the others, in the manner of the block.
 */
export function setClause(text: string, block: Block, words: string, value: string | null): string {
  const key = words.split(' ');
  const found = block.clauses.find((c) => begins(c, key));
  if (value === null) {
    if (!found) return text;
    const [from, to] = whole(text, found.from, found.end);
    return splice(text, from, to, '');
  }
  const clause = value === '' ? words : `${words} ${value}`;
  if (found) return splice(text, found.from, found.to, clause);
  return insert(text, block, clause);
}

/** A clause behind the others. */
export function insert(text: string, block: Block, clause: string): string {
  const last = block.clauses.at(-1);
  const at = last ? last.end : block.body;
  const semicolon = last && text[last.end - 1] !== ';' ? ';' : '';
  const lines = text.slice(block.body, block.last).includes('\n');
  const start = last ? text.lastIndexOf('\n', last.from - 1) + 1 : -1;
  const indent = last && text.slice(start, last.from).trim() === '' ? text.slice(start, last.from) : '  ';
  // A comment at the end of that line belongs to the clause before.
  const tail = lines ? /^[ \t]*(?:\/\/[^\n]*|\/\*[^\n]*?\*\/)?[ \t]*(?=\r?\n)/.exec(text.slice(at)) : null;
  if (tail) return text.slice(0, at) + semicolon + tail[0] + `\n${indent}${clause};` + text.slice(at + tail[0].length);
  const space = /\s$/.test(text.slice(0, at)) ? '' : ' ';
  return splice(text, at, at, `${semicolon}${lines ? `\n${indent}` : space}${clause};${/^\s/.test(text.slice(at)) ? '' : ' '}`);
}

/** The text without a block. Comments around it stay. */
export function removeBlock(text: string, block: Block): string {
  const [from, to] = whole(text, block.from, block.to);
  const left = splice(text, from, to, '');
  // Two blocks that were one empty line apart from it are one apart from each other.
  return left.slice(0, from).endsWith('\n\n') && left.slice(from).startsWith('\n') ? splice(left, from, from + 1, '') : left;
}

/** The text with blocks behind it. */
export function append(text: string, ...blocks: string[]): string {
  const base = text === '' || text.endsWith('\n') ? text : `${text}\n`;
  return base + blocks.map((b) => `${b}\n`).join('');
}

/** A number that follows a word in a clause, with its unit: `speed 2`, `to 90 deg`. */
export function setNumber(text: string, clause: Clause, after: string, value: string): string {
  const k = clause.tokens.findIndex((t) => t.text === after);
  const first = clause.tokens[k + 1];
  if (k < 0 || !first) return text;
  const unit = clause.tokens[k + 2];
  const to = unit && ['deg', 'ms', '%'].includes(unit.text) ? unit.to : first.to;
  return splice(text, first.from, to, value);
}

/** The first name of this kind that nothing in the text uses: `bar-1`, `bar-2`, … */
export function freshName(text: string, stem: string): string {
  const taken = new Set(parse(text).flatMap((b) => b.labels));
  for (let k = 1; ; k++) if (!taken.has(`${stem}-${k}`)) return `${stem}-${k}`;
}
