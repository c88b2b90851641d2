/** Keys: everything that the mouse can do. */

import * as THREE from 'three';
import type { App } from './app';
import * as command from './commands';
import { isTyping } from './dom';
import type { Docks } from './panels/dock';
import type { Framing } from './view/framing';
import type { Handles } from './view/handles';
import type { Hands } from './view/hands';
import type { Solids } from './view/solids';
import type { Stage } from './view/stage';

const HAND = 'keyboard';

export interface KeyboardParts {
  app: App;
  stage: Stage;
  solids: Solids;
  hands: Hands;
  docks: Docks;
  help: HTMLDialogElement;
  framing: Framing;
  handles: Handles;
  follow: () => void;
  build: { on: boolean };
  /** Deletes and copies what is selected. */
  remove: () => void;
  copy: () => void;
  dropPointers: () => void;
}

export class Keyboard {
  constructor(private readonly p: KeyboardParts) {
    addEventListener('keydown', (e) => this.key(e));
    p.stage.canvas.addEventListener('keydown', (e) => {
      if (e.key === 'Tab' && this.next(e.shiftKey ? -1 : 1)) e.preventDefault();
    });
  }

  /** Tab in the view walks through the movable solids, and leaves the view behind the last one. */
  private next(by: 1 | -1): boolean {
    const { app } = this.p;
    if (this.p.hands.has(HAND)) return true;
    const count = app.scene?.solids.length ?? 0;
    let i = app.selection?.kind === 'solid' ? app.selection.id + by : by > 0 ? 1 : count - 1;
    // Of a soft body's vertices one is enough.
    while (i > 0 && i < count && !(this.p.solids.isMovable(i) && this.p.solids.isWhole(i))) i += by;
    if (i < 1 || i >= count) {
      app.select(null);
      return false;
    }
    app.select({ kind: 'solid', id: i });
    return true;
  }

  /** Takes hold of a solid at its centre of mass, or lets go of it. */
  grab(solid: number): void {
    const { app, hands, solids, stage } = this.p;
    if (hands.has(HAND)) {
      const same = hands.solidOf(HAND) === solid;
      hands.end(HAND);
      if (same) return app.toast('Let go.');
    }
    if (!solids.isMovable(solid)) return app.toast('It is fixed: it cannot be dragged.', true);
    const at = new THREE.Vector3(...app.scene!.solids[solid]!.center).applyMatrix4(solids.matrices[solid]!);
    hands.begin(HAND, solid, at, app.grabMode, undefined, true);
    app.select({ kind: 'solid', id: solid });
    stage.canvas.focus({ preventScroll: true });
    app.toast('Grabbed: arrow keys move it, Enter lets go, Escape puts it back.');
  }

  private moveHeld(e: KeyboardEvent): boolean {
    const { hands, stage } = this.p;
    const target = hands.targetOf(HAND);
    const ways: Record<string, [number, number, number]> = {
      ArrowLeft: [-1, 0, 0],
      ArrowRight: [1, 0, 0],
      ArrowUp: [0, 1, 0],
      ArrowDown: [0, -1, 0],
      PageUp: [0, 0, -1],
      PageDown: [0, 0, 1],
    };
    const way = ways[e.key];
    if (!target || !way) return false;
    const size = stage.radius * (e.shiftKey ? 0.004 : 0.02);
    const world = stage.root.localToWorld(target.clone());
    if (way[2] !== 0) {
      const far = world.distanceTo(stage.camera.getWorldPosition(new THREE.Vector3()));
      hands.push(HAND, 1 - (way[2] * size) / far);
      stage.invalidate();
      return true;
    }
    world.add(new THREE.Vector3(...way).multiplyScalar(size).applyQuaternion(stage.camera.quaternion));
    hands.move(HAND, stage.root.worldToLocal(world));
    stage.invalidate();
    return true;
  }

  private key(e: KeyboardEvent): void {
    const { app, stage, hands, docks, help } = this.p;
    if (e.key === 'Escape') {
      // A dialog closes itself by it.
      if (document.querySelector('dialog[open]')) return;
      if (app.picker) {
        app.picker = null;
        app.emit('picking', false);
      } else if (hands.cancelAll()) {
        this.p.dropPointers();
      } else if (!isTyping(e.target)) {
        app.select(null);
      }
      return;
    }
    const undoes = (e.ctrlKey || e.metaKey) && ['z', 'y'].includes(e.key.toLowerCase());
    // What a field of the inspector has changed is in the text already: undo means that.
    const field = undoes && e.target instanceof HTMLElement && e.target.closest('.inspector') !== null;
    if ((isTyping(e.target) && !field) || document.querySelector('dialog[open]')) return;
    const onButton = e.target instanceof HTMLButtonElement || e.target instanceof HTMLInputElement || (e.target as HTMLElement).tagName === 'SUMMARY';
    const command_ = e.ctrlKey || e.metaKey;
    if (command_ && e.key.toLowerCase() === 'z') {
      e.preventDefault();
      void app.do(e.shiftKey ? command.redo() : command.undo());
      return;
    }
    if (command_ && e.key.toLowerCase() === 'y') {
      e.preventDefault();
      void app.do(command.redo());
      return;
    }
    if (command_ && e.key.toLowerCase() === 'd' && this.p.build.on) {
      e.preventDefault();
      this.p.copy();
      return;
    }
    if (command_ || e.altKey) return;
    if (this.moveHeld(e)) return e.preventDefault();
    const slider = e.target instanceof HTMLInputElement && e.target.type === 'range';
    switch (e.key) {
      case ' ':
        if (onButton && !slider) return;
        e.preventDefault();
        void app.do(command.run(!app.settings?.running));
        return;
      case 'ArrowLeft':
      case 'ArrowRight':
        if (slider) return;
        e.preventDefault();
        void app.do(command.step(e.key === 'ArrowRight' ? 1 : -1));
        return;
      case 'Enter':
        if (onButton) return;
        if (app.selection?.kind === 'solid') {
          e.preventDefault();
          this.grab(app.selection.id);
        }
        return;
      case 'Backspace':
        if (onButton) return;
        e.preventDefault();
        void app.do(command.reset());
        return;
      case 'Home':
        return stage.resetView();
      case 'Delete':
        if (app.selection && !onButton && (app.selection.kind === 'joint' || this.p.build.on)) this.p.remove();
        return;
      case '?':
        return help.showModal();
    }
    const letter = e.key.toLowerCase();
    if (letter === 'f') return this.p.framing.selection();
    if (letter === 'r') return stage.resetView();
    if (letter === 'b') return document.querySelector<HTMLElement>('#build')?.click();
    if (letter === 'v') return this.p.follow();
    if (letter === 'h') return this.p.handles.next();
    if (letter === 'k') return void app.do(command.mode(app.settings?.mode === 'kinematic' ? 'dynamic' : 'kinematic'));
    const panel = docks.forKey(letter);
    if (panel) docks.toggle(panel);
  }
}
