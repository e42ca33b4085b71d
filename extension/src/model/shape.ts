/** Type guards for data from files: `listOf(text)(value)` tells whether it is a list of strings. */

export type Shape<T> = (value: unknown) => value is T;
/** The type that a guard accepts. */
export type Of<S> = S extends Shape<infer T> ? T : never;

export const text: Shape<string> = (value): value is string => typeof value === 'string';
export const flag: Shape<boolean> = (value): value is boolean => typeof value === 'boolean';
export const finite: Shape<number> = (value): value is number => Number.isFinite(value);
export const count: Shape<number> = (value): value is number =>
  Number.isInteger(value) && (value as number) >= 0;
/** A line of a text; the first is 1. */
export const line: Shape<number> = (value): value is number => count(value) && value >= 1;

/** A number; JSON cannot represent those that are not finite, so these are strings. */
export type Real = number | 'nan' | 'inf' | '-inf';
export const real: Shape<Real> = (value): value is Real =>
  finite(value) || value === 'nan' || value === 'inf' || value === '-inf';

export function listOf<T>(item: Shape<T>): Shape<T[]> {
  return (value): value is T[] => Array.isArray(value) && value.every(item);
}

export function orNull<T>(shape: Shape<T>): Shape<T | null> {
  return (value): value is T | null => value === null || shape(value);
}

/** An optional entry. */
export function optional<T>(shape: Shape<T>): Shape<T | undefined> {
  return (value): value is T | undefined => value === undefined || shape(value);
}

export function oneOf<const T extends string | number | boolean>(...allowed: T[]): Shape<T> {
  return (value): value is T => allowed.includes(value as T);
}

/** An object with at least these entries. */
export function record<S extends Record<string, Shape<unknown>>>(
  entries: S
): Shape<{ [K in keyof S]: Of<S[K]> }> {
  return (value): value is { [K in keyof S]: Of<S[K]> } =>
    typeof value === 'object' &&
    value !== null &&
    Object.entries(entries).every(([name, shape]) => shape((value as Record<string, unknown>)[name]));
}
