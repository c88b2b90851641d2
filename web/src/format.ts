/** Numbers the way people read them. */

/** A length in metres as m, mm, µm or nm with three digits; below that nobody needs to know. */
export function length(metres: number): string {
  const a = Math.abs(metres);
  if (!Number.isFinite(metres)) return '–';
  if (a === 0) return '0';
  if (a >= 1) return `${digits(metres)} m`;
  if (a >= 1e-4) return `${digits(metres * 1e3)} mm`;
  if (a >= 1e-7) return `${digits(metres * 1e6)} µm`;
  if (a >= 1e-9) return `${digits(metres * 1e9)} nm`;
  return '< 1 nm';
}

/** Three significant digits without an exponent where that is short. */
export function digits(x: number): string {
  if (!Number.isFinite(x)) return '–';
  const a = Math.abs(x);
  if (a === 0) return '0';
  if (a >= 1e5 || a < 1e-3) return x.toExponential(1);
  if (a >= 100) return x.toFixed(0);
  if (a >= 10) return x.toFixed(1);
  return x.toFixed(2);
}

/** An angle in radians as degrees. */
export const degrees = (radians: number): string => `${digits((radians * 180) / Math.PI)}°`;

/** Seconds with two decimals. */
export const seconds = (t: number): string => `${t.toFixed(2)} s`;

/** The largest gap of all joints; where the turn is what is wrong, that as well. */
export function gapWords(f: { gap: number; gapAngle: number }, tolerance: number): string {
  return f.gapAngle > tolerance && f.gapAngle > f.gap ? `${length(f.gap)}, ${degrees(f.gapAngle)}` : length(f.gap);
}

/** So many of something, one of which has no s. */
export const many = (n: number, what: string, several = `${what}s`): string => `${n} ${n === 1 ? what : several}`;
