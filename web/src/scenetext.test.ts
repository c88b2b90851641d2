import { describe, expect, it } from 'vitest';
import { append, freshName, jointBlock, num, parse, removeBlock, setClause, setNumber, solidBlock } from './scenetext';

const text = `/* A crank; end of story: */
scene title "a; b: end"; end

solid crank:   // the red one
  shape capsule 0.06 from 0 0 0 to 0.6 0 0;
  mass 0.6; /* light */
  at 0 0 0;
end
solid a b: mass 1 end

joint motor:  pin; object2 crank; drive r1 speed 120 deg max-force 3; end
constraint hip: object2 a; hinge 0 1 0 0 0 0; end
joint ball; object1 a; object2 b; end
`;

describe('the form of a scene', () => {
  it('finds blocks, labels and clauses, past comments and strings', () => {
    const blocks = parse(text);
    expect(blocks.map((b) => [b.keyword, b.labels.join('+'), b.clauses.length])).toEqual([
      ['scene', '', 1],
      ['solid', 'crank', 3],
      ['solid', 'a+b', 1],
      ['joint', 'motor', 3],
      ['constraint', 'hip', 2],
      ['joint', '', 3],
    ]);
    expect(text.slice(blocks[1]!.from, blocks[1]!.to).endsWith('end')).toBe(true);
    expect(solidBlock(text, 'a')).toBe(null);
    expect(jointBlock(text, 1)!.labels).toEqual(['hip']);
    expect(jointBlock(text, 3)).toBe(null);
  });

  it('sets a clause and leaves the rest alone', () => {
    const heavier = setClause(text, solidBlock(text, 'crank')!, 'mass', '2');
    expect(heavier).toBe(text.replace('mass 0.6;', 'mass 2;'));
    const slow = setNumber(text, jointBlock(text, 0)!.clauses[2]!, 'speed', '1.5');
    expect(slow).toBe(text.replace('speed 120 deg max', 'speed 1.5 max'));
  });

  it('puts a new clause where it belongs, and takes it out again', () => {
    const red = setClause(text, solidBlock(text, 'crank')!, 'color', '1 0 0');
    expect(red).toBe(text.replace('  at 0 0 0;\n', '  at 0 0 0;\n  color 1 0 0;\n'));
    expect(setClause(red, solidBlock(red, 'crank')!, 'color', null)).toBe(text);
    const limited = setClause(text, jointBlock(text, 0)!, 'limit r1', '-1 1');
    expect(limited).toContain('max-force 3; limit r1 -1 1; end');
    expect(setClause(limited, jointBlock(limited, 0)!, 'limit r1', null)).toBe(text);
    const last = 'solid a b: mass 1 end';
    expect(setClause(last, parse(last)[0]!, 'at', '0 1 0')).toBe('solid a b: mass 1; at 0 1 0; end');
    const said = 'solid a:\n  mass 1; // one\nend\n';
    expect(setClause(said, parse(said)[0]!, 'at', '0 1 0')).toBe('solid a:\n  mass 1; // one\n  at 0 1 0;\nend\n');
    const empty = 'solid a:\nend';
    expect(setClause(empty, parse(empty)[0]!, 'mass', '1').replace(/\s+/g, ' ')).toBe('solid a: mass 1; end');
  });

  it('adds and removes blocks', () => {
    const more = append(text, 'solid c: mass 1; end');
    expect(more).toBe(`${text}solid c: mass 1; end\n`);
    expect(removeBlock(more, solidBlock(more, 'c')!)).toBe(text);
    expect(removeBlock(text, solidBlock(text, 'crank')!)).not.toContain('red');
    expect(freshName('solid bar-1: end solid bar-2: end', 'bar')).toBe('bar-3');
  });

  it('writes numbers that people can read', () => {
    expect([0.1 + 0.2, -1e-9, 5, 0.48000007931471106, -2.5, 100].map(num)).toEqual(['0.3', '0', '5', '0.48', '-2.5', '100']);
  });
});
