/** The scene's text beside the view: complaints as you type, apply, undo; the line of what is selected is marked. */

import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands';
import { HighlightStyle, StreamLanguage, syntaxHighlighting } from '@codemirror/language';
import { lintGutter, linter, type Diagnostic } from '@codemirror/lint';
import { highlightSelectionMatches, searchKeymap } from '@codemirror/search';
import { EditorState, StateEffect, StateField, type Text } from '@codemirror/state';
import { Decoration, EditorView, drawSelection, highlightActiveLineGutter, keymap, lineNumbers, type DecorationSet } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { type App, Refused } from '../app';
import * as command from '../commands';
import { download, fileName, h } from '../dom';
import type { DiagnosticInfo } from '../protocol';
import { ask } from './ask';
import type { Panel } from './dock';

const BLOCKS = new Set(
  'scene solid particle joint constraint material force spring trajectory cloth tetra skin world ignore watch end'.split(' '),
);

/** Words, numbers, strings and comments: enough to read a scene by. */
const language = StreamLanguage.define<{ comment: boolean; first: boolean }>({
  startState: () => ({ comment: false, first: true }),
  token(stream, state) {
    if (state.comment) {
      if (stream.skipTo('*/')) {
        stream.match('*/');
        state.comment = false;
      } else stream.skipToEnd();
      return 'comment';
    }
    if (stream.eatSpace()) return null;
    if (stream.match('/*')) {
      state.comment = true;
      return 'comment';
    }
    if (stream.match(/^"[^"]*"?/)) return 'string';
    if (stream.match(/^[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?/)) return 'number';
    const c = stream.peek();
    if (c === ';' || c === ':') {
      stream.next();
      state.first = true;
      return 'punctuation';
    }
    const word = stream.match(/^[A-Za-z_][\w-]*/) as RegExpMatchArray | null;
    if (word) {
      const first = state.first;
      state.first = false;
      if (BLOCKS.has(word[0])) {
        state.first = word[0] === 'end' || word[0] === 'scene';
        return 'keyword';
      }
      return first ? 'propertyName' : 'name';
    }
    stream.next();
    return null;
  },
  languageData: { commentTokens: { block: { open: '/*', close: '*/' } } },
});

const style = HighlightStyle.define([
  { tag: tags.keyword, class: 'tok-keyword' },
  { tag: tags.comment, class: 'tok-comment' },
  { tag: tags.string, class: 'tok-string' },
  { tag: tags.number, class: 'tok-number' },
  { tag: tags.propertyName, class: 'tok-property' },
]);

const markLine = StateEffect.define<number | null>();
const marked = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(marks, tr) {
    marks = marks.map(tr.changes);
    for (const e of tr.effects) {
      if (!e.is(markLine)) continue;
      const line = e.value;
      marks =
        line === null || line < 1 || line > tr.state.doc.lines
          ? Decoration.none
          : Decoration.set([Decoration.line({ class: 'cm-chosen' }).range(tr.state.doc.line(line).from)]);
    }
    return marks;
  },
  provide: (f) => EditorView.decorations.from(f),
});

/** Columns of the server count characters, CodeMirror counts UTF-16 units. */
function offset(doc: Text, line: number, column: number): number {
  const l = doc.line(Math.min(Math.max(line, 1), doc.lines));
  return Math.min(l.from + [...l.text].slice(0, Math.max(0, column - 1)).join('').length, l.to);
}

export function toDiagnostics(doc: Text, list: DiagnosticInfo[]): Diagnostic[] {
  return list.map((d) => {
    const from = offset(doc, d.line, d.column);
    const to = Math.max(from, offset(doc, d.end_line, d.end_column));
    return { from, to, severity: d.severity, message: `${d.message} [${d.code}]${d.hint ? `\n${d.hint}` : ''}` };
  });
}

export interface TextPanel extends Panel {
  reveal: (line: number) => void;
  view: EditorView;
  /** Puts a text into the editor, not applied. */
  edit: (content: string) => void;
}

export function text(app: App): TextPanel {
  const status = h('span', { class: 'status', role: 'status', id: 'text-status' });
  const apply = h('button', { type: 'button', id: 'apply', class: 'primary', title: 'Ctrl+Enter', onclick: () => void send() }, 'Apply');
  const revert = h('button', { type: 'button', id: 'revert', onclick: () => load(app.scene?.text ?? '') }, 'Revert');
  const undo = h('button', { type: 'button', id: 'text-undo', onclick: () => void app.do(command.undo()) }, 'Undo last change');
  const save = h('button', { type: 'button', id: 'save', hidden: true, title: 'Write the applied text to its file', onclick: () => void store() }, 'Save file');
  const holder = h('div', { class: 'editor' });

  const stash = h('button', { type: 'button', id: 'stash', hidden: true });

  const state = (doc: string) =>
    EditorState.create({
      doc,
      extensions: [
        lineNumbers(),
        highlightActiveLineGutter(),
        history(),
        drawSelection(),
        highlightSelectionMatches(),
        language,
        syntaxHighlighting(style),
        marked,
        lintGutter(),
        linter(async (v) => check(v.state.doc), { delay: 250 }),
        keymap.of([
          { key: 'Mod-Enter', run: () => (void send(), true) },
          { key: 'Mod-s', preventDefault: true, run: () => (void keep(), true) },
          { key: 'Escape', run: () => (app.emit('picking', false), view.contentDOM.blur(), true) },
          ...defaultKeymap,
          ...historyKeymap,
          ...searchKeymap,
          indentWithTab,
        ]),
        EditorView.lineWrapping,
        EditorView.contentAttributes.of({ 'aria-label': 'Text of the scene', tabindex: '0' }),
        EditorView.updateListener.of((u) => u.docChanged && changed()),
      ],
    });
  const view = new EditorView({ parent: holder, state: state('') });

  const changed = () => {
    const edited = view.state.doc.toString() !== app.scene?.text;
    apply.disabled = revert.disabled = !edited;
    if (edited && status.dataset.kind !== 'bad') say('edited, not applied yet', 'edited');
    if (!edited) say('matches the running scene', '');
  };
  const say = (words: string, kind: string) => {
    status.textContent = words;
    status.dataset.kind = kind;
  };
  const load = (content: string) => {
    if (view.state.doc.toString() !== content) {
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: content } });
    }
    changed();
  };

  async function check(doc: Text): Promise<Diagnostic[]> {
    if (!shown) return [];
    try {
      const { diagnostics } = await app.ask<{ diagnostics: DiagnosticInfo[] }>({ check: { text: doc.toString() } });
      const errors = diagnostics.filter((d) => d.severity === 'error').length;
      const first = diagnostics.find((d) => d.severity === 'error') ?? diagnostics[0];
      if (errors > 0) say(`${errors} error${errors > 1 ? 's' : ''}, line ${first!.line}: ${first!.message}`, 'bad');
      else if (first) say(`line ${first.line}: ${first.message}`, 'warning');
      else if (status.dataset.kind === 'bad' || status.dataset.kind === 'warning') say(view.state.doc.toString() === app.scene?.text ? 'matches the running scene' : 'edited, not applied yet', '');
      return toDiagnostics(doc, diagnostics);
    } catch {
      return [];
    }
  }

  async function send(): Promise<boolean> {
    const content = view.state.doc.toString();
    try {
      await app.connection.request('command', command.setText(content));
      say('applied', 'good');
      return true;
    } catch (error) {
      say(error instanceof Refused ? error.message : String(error), 'bad');
      return false;
    }
  }

  /** The next click overwrites what somebody else put into the file; asked for in words before. */
  let force = false;
  const insist = (on: boolean) => {
    force = on;
    save.textContent = on ? 'Overwrite file' : 'Save file';
  };
  async function store(): Promise<boolean> {
    const forced = force;
    insist(false);
    try {
      await app.ask({ save: { force: forced } });
      say(`saved to ${app.scene?.file}`, 'good');
      return true;
    } catch (error) {
      say(String((error as Error).message), 'bad');
      insist(error instanceof Refused && error.reason === 'file-changed');
      return false;
    }
  }
  /** Ctrl+S: applied, and in its file if it has one. */
  async function keep(): Promise<void> {
    if (view.state.doc.toString() !== app.scene?.text && !(await send())) return;
    if (app.scene?.file) await store();
    else say('applied; this scene has no file: File, Save the scene', 'good');
  }
  // The file is as it should be, or the scene is another: there is nothing to insist on.
  app.on('file', (f) => f.ok && insist(false));

  /** The user has agreed to lose what is not kept. */
  let agreed = false;
  const unapplied = () => view.state.doc.toString() !== app.scene?.text;
  app.leave = async () => {
    if (!app.scene || (!unapplied() && !app.settings?.unsaved)) return true;
    const { title, file } = app.scene;
    const what = unapplied() ? 'edits that are not applied yet' : file === null ? 'unsaved edits' : 'unsaved edits';
    const answer = await ask(`Leave “${title}”?`, `It has ${what}.`, [
      ['stay', 'Stay here'],
      ...(file === null ? [['download', 'Download them, then go'] as ['download', string]] : [['save', 'Save them, then go'] as ['save', string]]),
      ['go', 'Go without them'],
    ]);
    if (answer === 'stay') return false;
    if (answer === 'save') {
      const ok = (!unapplied() || (await send())) && (await store());
      if (!ok) app.toast(`Not saved: ${status.textContent}`, true);
      if (!ok) return false;
    }
    if (answer === 'download') download(fileName(app.scene.name, 'lw'), view.state.doc.toString(), 'text/plain');
    agreed = true;
    // If the server says no, there is still something to lose.
    setTimeout(() => (agreed = false), 5000);
    return true;
  };
  addEventListener('beforeunload', (e) => {
    if (app.scene && unapplied()) e.preventDefault();
  });

  let shown = false;
  let previous = '';
  let last = '';
  app.on('scene', (scene) => {
    const mine = view.state.doc.toString();
    const untouched = mine === previous || mine === scene.text || view.state.doc.length === 0;
    save.hidden = scene.file === null;
    insist(false);
    if (app.other) {
      // Another scene has another text, and an undo that does not lead back into this one. What was typed here and
      // not applied was left by agreement, or it can be had back: somebody else may have changed the scene.
      if (!untouched && !agreed) {
        const title = last;
        stash.textContent = `Download what was typed for “${title}”`;
        stash.onclick = () => download(fileName(title, 'lw'), mine, 'text/plain');
      }
      stash.hidden = untouched || agreed;
      agreed = false;
      view.setState(state(scene.text));
      changed();
    } else if (untouched) load(scene.text);
    else say('the scene changed elsewhere; your edits are kept here', 'edited');
    previous = scene.text;
    last = scene.title;
    mark();
  });
  const lineOf = () => {
    const s = app.selection;
    if (!s || !app.scene) return null;
    const line = (s.kind === 'solid' ? app.scene.solids : app.scene.joints)[s.id]?.line ?? 0;
    return line > 0 ? line : null;
  };
  const mark = () => {
    const line = lineOf();
    view.dispatch({ effects: markLine.of(line) });
    if (line !== null && shown && !view.hasFocus && line <= view.state.doc.lines) {
      view.dispatch({ effects: EditorView.scrollIntoView(view.state.doc.line(line).from, { y: 'center' }) });
    }
  };
  app.on('selection', mark);

  const element = h('div', { class: 'fill' }, holder, h('div', { class: 'row' }, apply, revert, undo, save, stash), status);
  return {
    id: 'text',
    title: 'Text',
    side: 'right',
    key: 't',
    element,
    view,
    edit: load,
    onshow: (on) => {
      shown = on;
      if (on) {
        view.requestMeasure();
        mark();
      }
    },
    reveal: (line) => {
      if (line < 1 || line > view.state.doc.lines) return;
      const { from } = view.state.doc.line(line);
      view.dispatch({ selection: { anchor: from }, effects: EditorView.scrollIntoView(from, { y: 'center' }) });
      view.focus();
    },
  };
}
