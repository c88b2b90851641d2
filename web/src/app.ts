/** What the page knows, and who wants to hear about it. The server's session is the truth; this only mirrors it. */

import { Connection, Disconnected, Refused } from './connection';
import type { CompareRow, ContactEvent, DiagnosticInfo, Frame, Hello, SceneMessage, ServerEvent, Settings, Sweep } from './protocol';
import { isOther } from './scenes';

export type Selection = { kind: 'solid' | 'joint'; id: number } | null;
export type GrabMode = 'pin' | 'pin-pose' | 'pull';

export interface Topics {
  hello: Hello;
  scene: SceneMessage;
  settings: Settings;
  frame: Frame;
  selection: Selection;
  compare: CompareRow[];
  contacts: ContactEvent[];
  file: { ok: boolean; message: string; diagnostics: DiagnosticInfo[]; text: string | null };
  connection: 'connecting' | 'open' | 'lost' | 'refused';
  toast: { message: string; bad: boolean };
  sweep: Sweep;
  overlays: Overlays;
  picking: boolean;
  released: number[];
}

export interface Overlays {
  joints: boolean;
  frames: boolean;
  gaps: boolean;
  limits: boolean;
  centres: boolean;
  forces: boolean;
  contacts: boolean;
  skins: boolean;
  strain: boolean;
}

type Listener<T> = (value: T) => void;

export class App {
  readonly connection: Connection;
  hello: Hello | null = null;
  scene: SceneMessage | null = null;
  settings: Settings | null = null;
  frame: Frame | null = null;
  selection: Selection = null;
  /** Further solids that are selected with it, by number. */
  also = new Set<number>();
  /** The next solids that are clicked or tapped are selected as well. */
  adding = false;
  grabMode: GrabMode = 'pin';
  overlays: Overlays = {
    joints: true,
    frames: false,
    gaps: true,
    limits: false,
    centres: false,
    forces: false,
    contacts: false,
    skins: true,
    strain: false,
  };
  /** Frames received since the page was opened. */
  frames = 0;
  /** Set while two solids are being picked for a new constraint. */
  picker: ((solid: number, point: [number, number, number]) => void) | null = null;

  /** The scene whose motion is still being worked out. */
  foreseen = -1;
  /** The scene whose motion was worked out last: the view has been widened to it. */
  swept = -1;
  /** The scene that came last is another one, not an edit of the one before. */
  other = true;
  /** Asks before the scene is left if anything would be lost by that. */
  leave: () => Promise<boolean> = () => Promise.resolve(true);

  private listeners = new Map<keyof Topics, Set<Listener<never>>>();

  constructor(readonly token: string) {
    this.connection = new Connection(token);
    this.connection.onevent = (event) => this.receive(event);
    this.connection.onstate = (state) => this.emit('connection', state);
    this.connection.onframe = (frame) => {
      this.frames++;
      // A frame of another scene than the one on show would put solids at random places.
      if (frame.revision !== this.scene?.revision || frame.count !== this.scene.solids.length - 1) return;
      this.frame = frame;
      this.emit('frame', frame);
    };
  }

  on<K extends keyof Topics>(topic: K, listener: Listener<Topics[K]>): void {
    const set = this.listeners.get(topic) ?? new Set();
    set.add(listener as Listener<never>);
    this.listeners.set(topic, set);
  }

  emit<K extends keyof Topics>(topic: K, value: Topics[K]): void {
    for (const listener of this.listeners.get(topic) ?? []) (listener as Listener<Topics[K]>)(value);
  }

  private receive(event: ServerEvent): void {
    switch (event.event) {
      case 'hello':
        this.hello = event;
        this.emit('hello', event);
        break;
      case 'scene': {
        this.other = isOther(this.scene, event);
        // Numbers of solids may mean others now: names are what stays.
        const names = [...this.also].map((i) => this.scene?.solids[i]?.name);
        this.also = new Set(this.other ? [] : names.map((n) => event.solids.findIndex((s) => s.name === n)).filter((i) => i > 0));
        this.scene = event;
        this.frame = null;
        if (this.other || !this.isThere(this.selection)) this.selection = null;
        if (this.selection?.kind !== 'solid') this.also.clear();
        this.emit('scene', event);
        this.emit('selection', this.selection);
        break;
      }
      case 'settings':
        this.settings = event;
        this.emit('settings', event);
        break;
      case 'compare':
        this.emit('compare', event.rows);
        break;
      case 'contacts':
        this.emit('contacts', event.events);
        break;
      case 'sweep':
        this.foreseen = event.done ? -1 : event.revision;
        this.emit('sweep', event);
        if (event.done) this.swept = event.revision;
        break;
      case 'file':
        this.emit('file', event);
        break;
      case 'note':
        this.toast(event.message);
        break;
      case 'error':
        this.toast(event.message, true);
        break;
      case 'released':
        this.emit('released', event.hands);
        break;
      case 'done':
        break;
    }
  }

  private isThere(s: Selection): boolean {
    if (!s || !this.scene) return false;
    return s.id < (s.kind === 'solid' ? this.scene.solids : this.scene.joints).length;
  }

  select(selection: Selection): void {
    if (this.adding && selection?.kind === 'solid') return this.add(selection.id);
    if (selection === null) this.adding = false;
    if (selection?.kind === this.selection?.kind && selection?.id === this.selection?.id && this.also.size === 0) return;
    this.selection = selection;
    this.also.clear();
    this.emit('selection', selection);
  }

  /** One more solid, or one less. */
  add(solid: number): void {
    if (solid <= 0 || this.scene?.solids[solid]?.soft !== undefined) return;
    if (this.selection?.kind !== 'solid') this.selection = { kind: 'solid', id: solid };
    else if (this.selection.id === solid) {
      const [next] = this.also;
      if (next === undefined) return;
      this.also.delete(next);
      this.selection = { kind: 'solid', id: next };
    } else if (!this.also.delete(solid)) this.also.add(solid);
    this.emit('selection', this.selection);
  }

  /** All solids that are selected, the first one first. */
  get chosen(): number[] {
    return this.selection?.kind === 'solid' ? [this.selection.id, ...this.also] : [];
  }

  /** Selects solids by name, after an edit that made them. */
  choose(names: string[]): void {
    const ids = names.map((n) => this.scene?.solids.findIndex((s) => s.name === n) ?? -1).filter((i) => i > 0);
    this.adding = false;
    this.selection = ids.length > 0 ? { kind: 'solid', id: ids[0]! } : null;
    this.also = new Set(ids.slice(1));
    this.emit('selection', this.selection);
  }

  setOverlay(key: keyof Overlays, on: boolean): void {
    this.overlays = { ...this.overlays, [key]: on };
    this.emit('overlays', this.overlays);
  }

  /** A command to the session. Refusals are shown; the caller may look at the answer. */
  async do(command: unknown): Promise<boolean> {
    try {
      await this.connection.request('command', command);
      return true;
    } catch (error) {
      // That there is no connection is said once, above.
      if (!(error instanceof Disconnected)) this.toast(error instanceof Error ? error.message : String(error), true);
      return false;
    }
  }

  /** A question to the server. */
  ask<T>(question: unknown): Promise<T> {
    return this.connection.request<T>('ask', question);
  }

  toast(message: string, bad = false): void {
    this.emit('toast', { message, bad });
  }

  /** The address of something the server makes on demand. */
  url(path: string): string {
    return `${path}?token=${encodeURIComponent(this.token)}`;
  }
}

export { Refused };
