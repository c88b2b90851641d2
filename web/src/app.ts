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
  file: { ok: boolean; message: string; diagnostics: DiagnosticInfo[] };
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
        this.scene = event;
        this.frame = null;
        if (this.other || !this.isThere(this.selection)) this.selection = null;
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
    if (selection?.kind === this.selection?.kind && selection?.id === this.selection?.id) return;
    this.selection = selection;
    this.emit('selection', selection);
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
