/** Colours by meaning. Without colour every function is the identity: no report may say anything by colour alone. */

type Brush = (text: string) => string;

export interface Paint {
  readonly strong: Brush;
  readonly dim: Brush;
  readonly good: Brush;
  readonly bad: Brush;
  readonly warn: Brush;
  readonly up: Brush;
  readonly down: Brush;
  readonly name: Brush;
}

const same: Brush = (text) => text;

export const noPaint: Paint = Object.freeze({
  strong: same,
  dim: same,
  good: same,
  bad: same,
  warn: same,
  up: same,
  down: same,
  name: same,
});
