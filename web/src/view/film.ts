/** A video of the view: what the canvas shows, as the browser can encode it. */

import type { Stage } from './stage';

const KINDS = ['video/webm;codecs=vp9', 'video/webm;codecs=vp8', 'video/webm', 'video/mp4'];
const RATE = 30;

export class Film {
  /** Told when it ends; nothing where nothing was drawn. */
  onend: (blob: Blob | null, ending: string) => void = () => {};
  private recorder: MediaRecorder | null = null;

  constructor(private readonly stage: Stage) {}

  start(): void {
    if (this.recorder) return;
    const kind = typeof MediaRecorder === 'undefined' ? undefined : KINDS.find((k) => MediaRecorder.isTypeSupported(k));
    if (!kind) throw new Error('This browser cannot record videos.');
    const parts: Blob[] = [];
    const stream = this.stage.canvas.captureStream(RATE);
    const recorder = new MediaRecorder(stream, { mimeType: kind, videoBitsPerSecond: 8_000_000 });
    recorder.addEventListener('dataavailable', (e) => parts.push(e.data));
    recorder.addEventListener('stop', () => {
      this.recorder = null;
      for (const track of stream.getTracks()) track.stop();
      const [type] = kind.split(';');
      this.onend(parts.length > 0 ? new Blob(parts, { type: type! }) : null, type!.endsWith('mp4') ? 'mp4' : 'webm');
    });
    this.recorder = recorder;
    recorder.start(500);
    // A still view is worth a picture, too.
    this.stage.invalidate();
  }

  stop(): void {
    this.recorder?.stop();
  }
}
