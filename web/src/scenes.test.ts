import { describe, expect, it } from 'vitest';
import { fileName } from './dom';
import { encodeLink, readLink } from './link';
import type { GalleryItem } from './protocol';
import { isOther, itemOf, matching } from './scenes';

const scene = (name: string, title: string, solids: string[], text = solids.join()) => ({
  name,
  title,
  text,
  up: 'y' as const,
  file: null,
  solids: ['world', ...solids].map((name) => ({ name })),
});

describe('scenes', () => {
  const four = scene('fourbar', 'Four-bar linkage', ['crank', 'coupler', 'rocker']);
  it('are others by name or by content, and edits are not', () => {
    expect(isOther(null, four)).toBe(true);
    expect(isOther(four, { ...four, name: 'jansen' })).toBe(true);
    expect(isOther(four, scene('fourbar', 'Acrobats', ['head', 'neck']))).toBe(true);
    expect(isOther(four, scene('fourbar', 'Slider-crank', ['crank', 'rod', 'piston']))).toBe(true);
    expect(isOther(four, scene('fourbar', 'Four-bar linkage', ['crank', 'coupler']))).toBe(false);
    expect(isOther(four, scene('fourbar', 'Renamed', ['crank', 'coupler', 'rocker', 'more'], 'x'))).toBe(false);
    expect(isOther(four, scene('fourbar', 'Emptied', []))).toBe(false);
  });

  it('are found in the gallery by what they are, not by what they were opened as', () => {
    const item = (id: string, title: string): GalleryItem => ({ id, title, figure: '', about: '', attempt: '', travels: false });
    const gallery = [item('', 'mine.lw'), item('fourbar', 'Four-bar linkage'), item('characters', 'Acrobats')];
    expect(itemOf(gallery, four)?.id).toBe('fourbar');
    expect(itemOf(gallery, scene('fourbar', 'Acrobats', []))?.id).toBe('characters');
    expect(itemOf(gallery, scene('fourbar', 'My own', []))).toBeNull();
    expect(itemOf(gallery, scene('x', 'mine.lw', []))).toBeNull();
  });

  it('ask for Space only where there is that key and time stands', () => {
    expect(matching('press Space, and it swings down.', false, false)).toBe('press Space, and it swings down.');
    expect(matching('press Space, and it swings down.', true, false)).toBe('time is running, and it swings down.');
    expect(matching('Draw it. Press Space: it slides.', true, true)).toBe('Draw it. Time is running: it slides.');
    expect(matching('Draw it. Press Space: it slides.', false, true)).toBe('Draw it. Press ▶: it slides.');
  });
});

describe('names of downloads', () => {
  it('are those of files without their folders', () => {
    expect(fileName('/home/me/my machine.lw', 'png')).toBe('my-machine.png');
    expect(fileName('C:\\scenes\\größe.lw', 'glb')).toBe('größe.glb');
    expect(fileName('fourbar', 'lw')).toBe('fourbar.lw');
    expect(fileName('', 'json')).toBe('scene.json');
  });
});

describe('links that somebody typed', () => {
  it('are refused in words', async () => {
    await expect(readLink('rubbish')).rejects.toThrow(/not a scene link/);
    await expect(readLink('#scene=%%%')).rejects.toThrow(/damaged/);
    expect(await readLink(`http://elsewhere/${await encodeLink('solid a')}`)).toBe('solid a');
  });
});
