/** The WebSocket: sends requests, hands out frames and events, and comes back after an interruption. */

import { PROTOCOL, decodeEvent, decodeFrame, type DiagnosticInfo, type Frame, type ServerEvent } from './protocol';

/** What the server refused, with the places in the text if it is about a scene. */
export class Refused extends Error {
  constructor(
    message: string,
    readonly diagnostics: DiagnosticInfo[] = [],
    readonly reason: string | null = null,
  ) {
    super(message);
  }
}

/** Nobody was there to answer. */
export class Disconnected extends Refused {}

type Waiting = { resolve: (value: unknown) => void; reject: (error: Error) => void };

export class Connection {
  onframe: (frame: Frame, bytes: number) => void = () => {};
  onevent: (event: ServerEvent) => void = () => {};
  onstate: (state: 'connecting' | 'open' | 'lost' | 'refused') => void = () => {};

  private socket: WebSocket | null = null;
  private next = 1;
  private waiting = new Map<number, Waiting>();
  private delay = 300;
  private wasOpen = false;
  private again = 0;

  constructor(private readonly token: string) {
    // Who comes back to the window, or to the network, does not wait for the next attempt.
    const hurry = () => {
      if (document.hidden || this.again === 0) return;
      clearTimeout(this.again);
      this.delay = 300;
      this.open();
    };
    addEventListener('online', hurry);
    document.addEventListener('visibilitychange', hurry);
  }

  open(): void {
    this.again = 0;
    this.onstate('connecting');
    const scheme = location.protocol === 'https:' ? 'wss' : 'ws';
    const socket = new WebSocket(`${scheme}://${location.host}/ws?token=${encodeURIComponent(this.token)}`);
    socket.binaryType = 'arraybuffer';
    this.socket = socket;
    socket.onopen = () => {
      this.delay = 300;
      this.wasOpen = true;
      this.onstate('open');
    };
    socket.onmessage = ({ data }) => {
      if (typeof data === 'string') {
        const event = decodeEvent(data);
        if (event) this.receive(event);
      } else {
        const frame = decodeFrame(data as ArrayBuffer);
        if (frame) this.onframe(frame, (data as ArrayBuffer).byteLength);
      }
    };
    socket.onclose = () => {
      for (const { reject } of this.waiting.values()) reject(new Disconnected('the connection was lost'));
      this.waiting.clear();
      this.onstate(this.wasOpen ? 'lost' : 'refused');
      // Longer and longer, so that a page left open does not hammer a server that is gone.
      this.again = window.setTimeout(() => this.open(), this.delay);
      this.delay = Math.min(this.delay * 1.7, 8000);
    };
  }

  private receive(event: ServerEvent): void {
    if (event.event === 'done' || (event.event === 'error' && event.id !== null)) {
      const waiting = this.waiting.get(event.id!);
      this.waiting.delete(event.id!);
      if (event.event === 'done') waiting?.resolve(event.result);
      else waiting?.reject(new Refused(event.message, event.diagnostics, event.reason));
      if (waiting) return;
    }
    this.onevent(event);
  }

  /** Sends a request and waits for its answer. */
  request<T = unknown>(kind: 'command' | 'ask', body: unknown): Promise<T> {
    if (this.socket?.readyState !== WebSocket.OPEN) return Promise.reject(new Disconnected('not connected to linkwork'));
    const id = this.next++;
    this.socket.send(JSON.stringify({ v: PROTOCOL, id, [kind]: body }));
    return new Promise((resolve, reject) => this.waiting.set(id, { resolve: resolve as Waiting['resolve'], reject }));
  }

  /** Sends a command whose answer nobody waits for: drags, sixty times a second. */
  tell(body: unknown): void {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify({ v: PROTOCOL, command: body }));
  }
}
